//! Numbers in decimal digits.

/// Appends a number. The formatting functions of std take several times as long.
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    if number < 10 {
        return out.push(b'0' + number as u8);
    }
    let mut digits = [0; 20];
    let mut start = digits.len();
    // Two digits at a time, so that half as many divisions depend on each other.
    while number >= 10 {
        start -= 2;
        let pair = (number % 100) as u8;
        digits[start] = b'0' + pair / 10;
        digits[start + 1] = b'0' + pair % 10;
        number /= 100;
    }
    if number > 0 {
        start -= 1;
        digits[start] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_each_length_are_written() {
        let powers = (0..20).map(|digits| 10_u64.pow(digits));
        for number in powers.flat_map(|power| [power - 1, power, power + 1]).chain([u64::MAX]) {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }
}
