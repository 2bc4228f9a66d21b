// A server and a client of WebSocket with `ws`. See websocket_peer.py.
const { WebSocket, WebSocketServer } = require('ws');

const bytes = Buffer.alloc(256 * 300, Buffer.from(Array.from({ length: 256 }, (_, index) => index)));
const messages = ['naïve 网络 \u{1f600} '.repeat(2000), '', bytes, 'fragménts'];
const report = (values) => console.log(JSON.stringify(values));
const fail = (error) => { console.error(error); process.exit(1); };

function serve() {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: true });
  server.on('listening', () => console.log(server.address().port));
  server.on('connection', (socket, request) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('close', (code) => report({ path: request.url, code }));
    socket.on('error', () => {});
  });
}

function call(port) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/call`, { perMessageDeflate: true });
    const left = [...messages];
    const send = () => {
      if (typeof left[0] === 'string' && left[0].length === 9) {
        socket.send(left[0].slice(0, 4), { fin: false });
        socket.send(left[0].slice(4));
      } else {
        socket.send(left[0]);
      }
    };
    socket.on('open', send);
    socket.on('message', (data) => {
      if (!Buffer.from(left.shift()).equals(data)) fail(`another message of ${data.length} bytes`);
      if (left.length > 0) send();
      else socket.ping();
    });
    socket.on('pong', () => {
      report({ extensions: socket.extensions ? [socket.extensions] : [] });
      socket.close();
    });
    socket.on('close', resolve);
    socket.on('error', fail);
  });
}

// `ws` returns whole messages only, so the text of a message that is not complete is empty.
function receive(port, number) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${number}`);
    socket.on('close', (code) => { report({ text: '', code }); resolve(); });
    socket.on('error', fail);
  });
}

async function main([mode, ...rest]) {
  if (mode === 'serve') serve();
  else if (mode === 'call') for (const port of rest) await call(port);
  else await Promise.all(Array.from({ length: Number(rest[1]) }, (_, index) => receive(rest[0], index)));
}

main(process.argv.slice(2)).catch(fail);
