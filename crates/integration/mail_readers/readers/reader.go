// Reads messages in hexadecimal, one per line, and writes the leaves that net/mail and mime/multipart find in each, as
// JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
)

type result struct {
	Leaves [][4]string `json:"leaves"`
	Error  *string     `json:"error"`
}

// The header of a message or of a part.
type header interface{ Get(key string) string }

func message(raw io.Reader, out *result) error {
	parsed, err := mail.ReadMessage(raw)
	if err != nil {
		return err
	}
	return entity(parsed.Header, parsed.Body, "text/plain", out)
}

func entity(fields header, body io.Reader, kind string, out *result) error {
	var parameters map[string]string
	if value := fields.Get("Content-Type"); value != "" {
		var err error
		if kind, parameters, err = mime.ParseMediaType(value); err != nil {
			return err
		}
	}
	switch {
	case len(kind) > 10 && kind[:10] == "multipart/":
		child := "text/plain"
		if kind == "multipart/digest" {
			child = "message/rfc822"
		}
		reader := multipart.NewReader(body, parameters["boundary"])
		for {
			part, err := reader.NextRawPart()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := entity(part.Header, part, child, out); err != nil {
				return err
			}
		}
	case kind == "message/rfc822" || kind == "message/global":
		return message(body, out)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	out.Leaves = append(out.Leaves, [4]string{
		kind, parameters["charset"], fields.Get("Content-Transfer-Encoding"), hex.EncodeToString(content)})
	return nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		raw, err := hex.DecodeString(lines.Text())
		if err != nil {
			panic(err)
		}
		found := result{Leaves: [][4]string{}}
		if err := message(bytes.NewReader(raw), &found); err != nil {
			text := err.Error()
			found.Error = &text
		}
		if err := encoder.Encode(found); err != nil {
			panic(err)
		}
	}
}
