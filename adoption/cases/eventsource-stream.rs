use eventsource_stream::Eventsource;
use futures::StreamExt;

/// Returns the data of the events before the first error.
async fn events(chunks: &[&[u8]]) -> Vec<String> {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, ()>(chunk.to_vec())).collect();
    let stream = futures::stream::iter(chunks).eventsource();
    stream
        .take_while(|event| std::future::ready(event.is_ok()))
        .map(|event| event.unwrap().data)
        .collect()
        .await
}

#[tokio::test]
async fn a_bom_is_removed() {
    assert_eq!(events(&[b"\xEF\xBB\xBFdata: a\n\ndata: b\n\n"]).await, ["a", "b"]);
}

#[tokio::test]
async fn a_bom_in_three_chunks_is_removed() {
    assert_eq!(events(&[b"\xEF", b"\xBB", b"\xBFdata: a\n\n"]).await, ["a"]);
}

#[tokio::test]
async fn an_ill_formed_byte_is_replaced_and_the_next_events_are_returned() {
    let chunks: [&[u8]; 3] = [b"data: a\xFFb\n\nda", b"ta: \xF0\x9F", b"\x98\x80\n\n"];
    assert_eq!(events(&chunks).await, ["a\u{FFFD}b", "😀"]);
}
