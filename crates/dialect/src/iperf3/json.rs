//! The layout of iperf3's JSON, which is cJSON's, and its numbers.

use crate::json_tree::JsonStyle;

/// Tabs, arrays inline, numbers as cJSON prints them.
pub const CJSON: JsonStyle = JsonStyle {
    indent: "\t",
    newline: "\n",
    colon: ":\t",
    inline_comma: Some(", "),
    is_empty_closed: false,
    real: number,
};

/// A number as cJSON prints it: whole where it is, else with 15 digits, or 17 where 15 do not bring it back. What is no
/// number is 0: the original writes `null` there, which no reader expects.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    if value == value.trunc() && value.abs() < 9e15 {
        return format!("{}", value as i64);
    }
    let short = general(value, 15);
    if short.parse::<f64>() == Ok(value) { short } else { general(value, 17) }
}

/// C's `%.{digits}g`.
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".into();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_tree::JsonTree;

    #[test]
    fn numbers_are_cs() {
        assert_eq!(number(1.000_388_979_911_804_2), "1.0003889799118042");
        assert_eq!(number(29_396_927_681.663_07), "29396927681.663071");
        assert_eq!(number(3.5e-5), "3.5e-05");
        assert_eq!((number(2.001239), number(0.0), number(4.0)), ("2.001239".into(), "0".into(), "4".into()));
        assert_eq!((number(f64::NAN), number(1e300)), ("0".into(), "1e+300".into()));
        assert_eq!(general(0.05, 2), "0.05");
    }

    #[test]
    fn documents_are_cjsons() {
        let inner = JsonTree::object([("a", 1u64.into()), ("b", "x\"\n".into())]);
        let list = JsonTree::List(vec![inner.clone(), inner]);
        let whole =
            JsonTree::object([("l", list), ("none", JsonTree::List(vec![])), ("end", JsonTree::object([]))]);
        assert_eq!(
            whole.print(&CJSON),
            "{\n\t\"l\":\t[{\n\t\t\t\"a\":\t1,\n\t\t\t\"b\":\t\"x\\\"\\n\"\n\t\t}, {\n\t\t\t\"a\":\t1,\n\t\t\t\"b\":\t\
             \"x\\\"\\n\"\n\t\t}],\n\t\"none\":\t[],\n\t\"end\":\t{\n\t}\n}"
        );
        assert_eq!(
            whole.line(&CJSON),
            "{\"l\":[{\"a\":1,\"b\":\"x\\\"\\n\"},{\"a\":1,\"b\":\"x\\\"\\n\"}],\"none\":[],\"end\":{}}"
        );
    }
}
