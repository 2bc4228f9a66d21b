//! The chart of the throughput by the size of chunks.

use std::path::Path;

use plotters::prelude::*;

use crate::corpora::Corpus;
use crate::measure::{Effort, race};
use crate::table::cpu;
use crate::validation::validators;

const CHUNKS: [usize; 14] = [1, 4, 8, 16, 32, 64, 128, 256, 512, 1460, 4096, 8192, 16384, 65536];

/// Measures the throughput by chunk size, and draws one line for each contender.
pub fn draw(corpus: Corpus, effort: Effort, svg: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let text = corpus.text(1 << 17);
    let names = validators(b"", 1).iter().map(|contender| contender.name).collect::<Vec<_>>();
    let mut series = vec![Vec::new(); names.len()];
    for chunk in CHUNKS {
        let data = &text.as_bytes()[..if chunk < 64 { 1 << 14 } else { text.len() }];
        let data = &data[..core::str::from_utf8(data).map_or_else(|e| e.valid_up_to(), str::len)];
        let race = race(validators(data, chunk), effort);
        for (name, points) in names.iter().zip(&mut series) {
            let speed = data.len() as f64 / race.median_nanos(name);
            points.push((chunk as f64, speed));
        }
    }
    let root = SVGBackend::new(svg, (820, 480)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption(
            format!("{}: validation of a stream, by the size of its chunks ({})", corpus.name(), cpu()),
            ("sans-serif", 12),
        )
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(50)
        .build_cartesian_2d((1.0..65536.0).log_scale(), (0.05..50.0).log_scale())?;
    chart.configure_mesh().x_desc("bytes in a chunk").y_desc("GB/s").draw()?;
    const COLOURS: [RGBColor; 7] = [
        RGBColor(200, 30, 30),
        RGBColor(30, 90, 200),
        RGBColor(20, 140, 60),
        RGBColor(120, 120, 120),
        RGBColor(220, 140, 20),
        RGBColor(130, 60, 170),
        RGBColor(0, 150, 170),
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
