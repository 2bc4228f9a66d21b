//! Tables and the chart.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use plotters::prelude::*;

use crate::corpora::Corpus;
use crate::measure::{Effort, race};
use crate::reasons;
use crate::rows::{PEERS, Row, validators};

/// Returns the table of ratios in Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| scenario | input | GB/s | against | ratio | quartiles | goal | |\n|---|---|---:|---|---:|---|---:|---|\n",
    );
    for row in rows {
        let Row { scenario, input, against, ratio, goal, speed } = row;
        let goal = if *goal > 0.0 { format!("{goal:.2}") } else { String::new() };
        let _ = writeln!(
            table,
            "| {scenario} | {input} | {speed:.2} | {against} | {:.2} | {:.2}-{:.2} | {goal} | {} |",
            ratio.median,
            ratio.low,
            ratio.high,
            reasons::verdict(row)
        );
    }
    table
}

/// Writes the page of this CPU, if the directory exists. Fails if the page of explanations, if it exists, lacks a section.
pub fn page(rows: &[Row], directory: &Path) -> std::io::Result<()> {
    if !directory.is_dir() {
        return Ok(());
    }
    let absent = fs::read_to_string(directory.join("missed.md"))
        .map_or_else(|_| Vec::new(), |page| reasons::absent(&page));
    if !absent.is_empty() {
        return Err(std::io::Error::other(format!("missed.md has no section {absent:?}")));
    }
    let family = crate::cpu::family();
    let count = |verdict| rows.iter().filter(|row| row.verdict() == verdict).count();
    let page = format!(
        "# Ratios: {family}\n\nWritten by `benches/ratios` on: {}. {} goals are met, {} are missed. [Performance](../performance.md) \
        explains the columns, and [Missed goals](missed.md) the rows below their goals.\n\n![Throughput of the conversions]({family}.svg)\n\n{}",
        crate::cpu::model(),
        count("met"),
        count("**missed**"),
        table(rows)
    );
    fs::write(directory.join(format!("{family}.md")), page)
}

/// Draws two bars for each conversion: this crate, and the peer that it is compared with.
pub fn conversions(rows: &[Row], directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| {
            row.scenario.contains(" to ")
                && !row.scenario.contains("length")
                && !row.against.contains("GB/s")
                && row.goal > 0.0
        })
        .filter(|row| ["ASCII JSON", "French HTML", "CJK"].contains(&&*row.input))
        .collect();
    if rows.is_empty() || !directory.is_dir() {
        return Ok(());
    }
    let speeds = |row: &Row| [row.speed, row.speed / row.ratio.median];
    let fastest = rows.iter().flat_map(|row| speeds(row)).fold(1.0, f64::max);
    let svg = directory.join(format!("{}.svg", crate::cpu::family()));
    let (width, line) = (900, 18);
    let root = SVGBackend::new(&svg, (width, 40 + line * rows.len() as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let text = |text: String, x: i32, y: i32, size: i32| Text::new(text, (x, y), ("sans-serif", size));
    let caption = "Conversions, GB/s of input: this crate in red, the peer of the table in gray";
    root.draw(&text(caption.to_owned(), 10, 8, 16))?;
    for (i, row) in rows.iter().enumerate() {
        let y = 32 + line as i32 * i as i32;
        root.draw(&text(format!("{}, {}", row.scenario, row.input), 10, y + 2, 12))?;
        for (bar, (speed, colour)) in
            speeds(row).into_iter().zip([RGBColor(200, 30, 30), RGBColor(150, 150, 150)]).enumerate()
        {
            let top = y + 8 * bar as i32;
            let end = 290 + (540.0 * speed / fastest) as i32;
            root.draw(&Rectangle::new([(290, top), (end, top + 7)], colour.filled()))?;
            root.draw(&text(format!("{speed:.1}"), end + 4, top, 8))?;
        }
    }
    root.present()?;
    Ok(())
}

/// The page of short texts, if they were measured and the directory exists.
pub fn short(tables: &str, page: &Path) -> std::io::Result<()> {
    if tables.is_empty() || !page.parent().is_some_and(Path::is_dir) {
        return Ok(());
    }
    let head = format!(
        "# Short texts\n\n\
        Nanoseconds of a call for texts of each length, and how many times as fast as the fastest peer it is (smoothutf8\n\
        0.2.3, std, simdutf8 0.1.5). Ratios below 0.97 are bold. The texts follow each other in one buffer; where no letter\n\
        fits any more the rest of a text is ASCII. The peers validate a whole text; `validate` and `feed` also keep the state\n\
        of a stream. Written by `benches/ratios` on: {}.\n",
        crate::cpu::model()
    );
    fs::write(page, head + tables)
}

pub fn csv(rows: &[Row]) -> String {
    let mut csv = String::from("scenario,input,gb_per_s,against,ratio,quartile1,quartile3,goal\n");
    for Row { scenario, input, against, ratio, goal, speed } in rows {
        let _ = writeln!(
            csv,
            "\"{scenario}\",\"{input}\",{speed:.3},\"{against}\",{:.3},{:.3},{:.3},{goal}",
            ratio.median, ratio.low, ratio.high
        );
    }
    csv
}

const CHUNKS: [usize; 14] = [1, 4, 8, 16, 32, 64, 128, 256, 512, 1460, 4096, 8192, 16384, 65536];

/// Measures the throughput by chunk size, and draws one line for each contender.
pub fn chart(
    corpus: Corpus,
    effort: Effort,
    csv: &Path,
    svg: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let text = corpus.text(1 << 17);
    let names: Vec<&str> = ["ours"].into_iter().chain(PEERS).collect();
    let mut series = vec![Vec::new(); names.len()];
    let mut lines = String::from("contender,chunk,gb_per_s\n");
    for chunk in CHUNKS {
        let data = &text.as_bytes()[..if chunk < 64 { 1 << 14 } else { text.len() }];
        let data = &data[..core::str::from_utf8(data).map_or_else(|e| e.valid_up_to(), str::len)];
        let race = race(validators(data, chunk), effort);
        for (name, points) in names.iter().zip(&mut series) {
            let speed = data.len() as f64 / race.median_nanos(name);
            points.push((chunk as f64, speed));
            writeln!(lines, "{name},{chunk},{speed:.3}")?;
        }
    }
    fs::write(csv, lines)?;

    let root = SVGBackend::new(svg, (820, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            format!("{}: validation of a stream, by the size of its chunks", corpus.name()),
            ("sans-serif", 18),
        )
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d((1.0..65536.0).log_scale(), (0.05..50.0).log_scale())?;
    chart.configure_mesh().x_desc("bytes in a chunk").y_desc("GB/s").draw()?;
    const COLOURS: [RGBColor; 6] = [
        RGBColor(200, 30, 30),
        RGBColor(30, 90, 200),
        RGBColor(20, 140, 60),
        RGBColor(120, 120, 120),
        RGBColor(220, 140, 20),
        RGBColor(130, 60, 170),
    ];
    for ((name, points), colour) in names.iter().zip(series).zip(COLOURS) {
        let style = colour.stroke_width(if *name == "ours" { 3 } else { 2 });
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart.configure_series_labels().background_style(WHITE).border_style(BLACK).draw()?;
    root.present()?;
    Ok(())
}
