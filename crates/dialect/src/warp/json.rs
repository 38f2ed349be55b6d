//! The sums of a run as JSON, with warp's names: written at the end of a run, and read again.

use serde_json::Value;

use super::aggregate::{
    FirstByteTimes, HostSums, KindSums, RequestTimes, SecondRate, Seconds, Sums, WINDOW_S, Window,
};
use crate::date::{parse_rfc3339, rfc3339};
use crate::json_tree::{JsonStyle, JsonTree, json_object};

const STYLE: JsonStyle = JsonStyle {
    indent: "  ",
    newline: "\n",
    colon: ": ",
    inline_comma: None,
    is_empty_closed: true,
    real: |number| if number.is_finite() { format!("{number}") } else { "0".into() },
};

/// The format's number.
const FORMAT: u32 = 2;

const SECOND: u64 = 1_000_000_000;

/// The whole text, without a line's end.
pub fn of(sums: &Sums) -> String {
    let kinds = sums.by_kind.iter().map(|(kind, sums)| (kind.clone(), kind_tree(kind, sums)));
    let tree = json_object! {
        "v": FORMAT,
        "commandline": sums.command.as_str(),
        "final": true,
        "total": kind_tree("Total", &sums.total),
        "by_op_type": JsonTree::fields(kinds),
    };
    tree.print(&STYLE)
}

fn list<T: Into<JsonTree>>(items: impl IntoIterator<Item = T>) -> JsonTree {
    JsonTree::List(items.into_iter().map(Into::into).collect())
}

fn kind_tree(kind: &str, sums: &KindSums) -> JsonTree {
    let hosts = sums.hosts.iter().map(|(host, sums)| (host.clone(), host_tree(sums)));
    json_object! {
        "Title": kind,
        "total_requests": sums.requests,
        "total_objects": sums.objects,
        "total_errors": sums.errors,
        "total_bytes": sums.bytes,
        "concurrency": sums.threads,
        "start_time": rfc3339(sums.began),
        "end_time": rfc3339(sums.ended),
        "first_errors": list(sums.first_errors.iter().map(String::as_str)),
        "hosts": list(sums.hosts.keys().map(String::as_str)),
        "clients": list(["a"]),
        "throughput": seconds_tree(sums),
        "throughput_by_host": JsonTree::fields(hosts),
        "requests_by_client": json_object! { "a": list(sums.windows.iter().map(window_tree)) },
    }
}

fn host_tree(sums: &HostSums) -> JsonTree {
    json_object! {
        "start_time": rfc3339(sums.began),
        "end_time": rfc3339(sums.ended),
        "errors": sums.errors,
        "measure_duration_millis": sums.ended.saturating_sub(sums.began) / 1_000_000,
        "bytes": sums.bytes,
        "objects": sums.objects,
        "ops": sums.requests,
    }
}

fn seconds_tree(sums: &KindSums) -> JsonTree {
    let Some(seconds) = &sums.seconds else {
        return json_object! { "start_time": rfc3339(sums.began), "end_time": rfc3339(sums.ended), "errors": 0_u32,
        "measure_duration_millis": 0_u32, "bytes": 0_u32, "objects": 0_u32, "ops": 0_u32 };
    };
    let length = seconds.each.len() as u64;
    let segment = |second: &SecondRate| {
        json_object! { "start": rfc3339(second.at_s * SECOND), "bytes_per_sec": second.bytes, "obj_per_sec": second.objects,
        "errors": second.errors }
    };
    let [fastest, median, slowest] = seconds.ranked();
    let when = |second: &SecondRate| rfc3339(second.at_s * SECOND);
    json_object! {
        "start_time": rfc3339(seconds.first_s * SECOND),
        "end_time": rfc3339((seconds.first_s + length) * SECOND),
        "segmented": json_object! {
            "fastest_start": when(&fastest),
            "median_start": when(&median),
            "slowest_start": when(&slowest),
            "sorted_by": if seconds.bytes > 0.0 { "bps" } else { "ops" },
            "segments": list(seconds.each.iter().map(segment)),
            "segment_duration_millis": 1000_u32,
            "fastest_bps": fastest.bytes,
            "fastest_ops": fastest.objects,
            "median_bps": median.bytes,
            "median_ops": median.objects,
            "slowest_bps": slowest.bytes,
            "slowest_ops": slowest.objects,
        },
        "errors": seconds.errors,
        "measure_duration_millis": length * 1000,
        "bytes": seconds.bytes,
        "objects": seconds.objects,
        "ops": seconds.requests,
    }
}

fn window_tree(window: &Window) -> JsonTree {
    let times = &window.times;
    let mut requests = JsonTree::Object(Vec::new());
    if let Some(FirstByteTimes { times, p25, p75 }) = &window.first_byte {
        let first_byte = json_object! {
            "average_millis": times.mean,
            "fastest_millis": times.fastest,
            "p25_millis": *p25,
            "median_millis": times.median,
            "p75_millis": *p75,
            "p90_millis": times.p90,
            "p99_millis": times.p99,
            "slowest_millis": times.slowest,
            "std_dev_millis": times.deviation,
        };
        requests.push("first_byte", first_byte);
    }
    requests.append(json_object! {
        "dur_median_millis": times.median,
        "fastest_millis": times.fastest,
        "slowest_millis": times.slowest,
        "std_dev_millis": times.deviation,
        "dur_99_millis": times.p99,
        "dur_90_millis": times.p90,
        "dur_avg_millis": times.mean,
        "requests": window.requests,
        "obj_size": window.object_bytes,
        "merged_entries": 1_u32,
    });
    json_object! {
        "start_time": rfc3339(window.at_s * SECOND),
        "end_time": rfc3339((window.at_s + WINDOW_S) * SECOND),
        "single_sized_requests": requests,
    }
}

/// Reads what a run wrote.
///
/// # Errors
/// What is wrong with it, as a lower-case fragment.
pub fn parse(text: &str) -> Result<Sums, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    let kinds = value.get("by_op_type").and_then(Value::as_object);
    let kinds = kinds.ok_or("it has no `by_op_type`: it is no file of results of warp 1")?;
    let by_kind = kinds.iter().map(|(kind, sums)| (kind.clone(), kind_of(sums))).collect();
    Ok(Sums {
        command: value.get("commandline").and_then(Value::as_str).unwrap_or_default().into(),
        by_kind,
        total: value.get("total").map(kind_of).unwrap_or_default(),
    })
}

fn whole(value: &Value, name: &str) -> u64 {
    let found = &value[name];
    found.as_u64().unwrap_or_else(|| found.as_f64().filter(|number| *number > 0.0).unwrap_or(0.0) as u64)
}

fn real(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or(0.0)
}

fn time(value: &Value, name: &str) -> u64 {
    value[name].as_str().and_then(parse_rfc3339).unwrap_or(0)
}

fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

fn kind_of(value: &Value) -> KindSums {
    let hosts = value["throughput_by_host"].as_object().into_iter().flatten();
    let windows = value["requests_by_client"].as_object().into_iter().flatten();
    let windows = windows.flat_map(|(_, windows)| windows.as_array().into_iter().flatten());
    KindSums {
        requests: whole(value, "total_requests"),
        objects: whole(value, "total_objects"),
        errors: whole(value, "total_errors"),
        bytes: whole(value, "total_bytes"),
        threads: whole(value, "concurrency").min(u64::from(u32::MAX)) as u32,
        began: time(value, "start_time"),
        ended: time(value, "end_time"),
        first_errors: items(value, "first_errors").filter_map(Value::as_str).map(String::from).collect(),
        hosts: hosts.map(|(host, sums)| (host.clone(), host_of(sums))).collect(),
        seconds: seconds_of(&value["throughput"]),
        windows: windows.filter_map(window_of).collect(),
    }
}

fn host_of(value: &Value) -> HostSums {
    HostSums {
        requests: whole(value, "ops"),
        objects: whole(value, "objects"),
        bytes: whole(value, "bytes"),
        errors: whole(value, "errors"),
        began: time(value, "start_time"),
        ended: time(value, "end_time"),
    }
}

fn seconds_of(value: &Value) -> Option<Seconds> {
    let segmented = value.get("segmented")?;
    let second = |value: &Value| SecondRate {
        at_s: time(value, "start") / SECOND,
        bytes: real(value, "bytes_per_sec"),
        objects: real(value, "obj_per_sec"),
        errors: whole(value, "errors"),
    };
    Some(Seconds {
        first_s: time(value, "start_time") / SECOND,
        requests: whole(value, "ops"),
        errors: whole(value, "errors"),
        bytes: real(value, "bytes"),
        objects: real(value, "objects"),
        each: items(segmented, "segments").map(second).collect(),
    })
}

fn window_of(value: &Value) -> Option<Window> {
    let requests = value.get("single_sized_requests").filter(|requests| whole(requests, "requests") > 0)?;
    let times = |value: &Value, mean: &str, median: &str, percentiles: [&str; 2]| RequestTimes {
        mean: real(value, mean),
        median: real(value, median),
        p90: real(value, percentiles[0]),
        p99: real(value, percentiles[1]),
        fastest: real(value, "fastest_millis"),
        slowest: real(value, "slowest_millis"),
        deviation: real(value, "std_dev_millis"),
    };
    let first_byte = requests.get("first_byte").map(|value| FirstByteTimes {
        times: times(value, "average_millis", "median_millis", ["p90_millis", "p99_millis"]),
        p25: real(value, "p25_millis"),
        p75: real(value, "p75_millis"),
    });
    Some(Window {
        at_s: time(value, "start_time") / SECOND,
        requests: whole(requests, "requests"),
        object_bytes: whole(requests, "obj_size"),
        times: times(requests, "dur_avg_millis", "dur_median_millis", ["dur_90_millis", "dur_99_millis"]),
        first_byte,
    })
}

#[cfg(test)]
mod tests {
    use super::super::aggregate;
    use super::super::requests::WarpRequest;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let request = |number: u64| WarpRequest {
            kind: if number.is_multiple_of(3) { "PUT" } else { "GET" }.into(),
            thread: (number % 2) as u32,
            objects: 1,
            bytes: 1000 + number,
            host: "http://h:9000".into(),
            error: if number == 50 { "it is lost".into() } else { String::new() },
            began: 1_795_306_500_123_456_789 + number * 100_000_000,
            first_byte: (!number.is_multiple_of(3))
                .then_some(1_795_306_500_125_000_000 + number * 100_000_000),
            ended: 1_795_306_500_199_000_001 + number * 100_000_000,
            ..WarpRequest::default()
        };
        let requests: Vec<_> = (0..200).map(request).collect();
        let sums = aggregate::sums(&requests, "warp mixed --secret-key=***");
        let text = of(&sums);
        assert_eq!(parse(&text), Ok(sums));
        for name in [
            "\"commandline\": \"warp mixed",
            "\"dur_median_millis\": ",
            "\"sorted_by\": \"bps\"",
            "\"v\": 2,",
        ] {
            assert!(text.contains(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_result_is_told() {
        assert!(parse("{").unwrap_err().starts_with("no JSON: "));
        assert!(parse("{}").unwrap_err().contains("by_op_type"));
        assert_eq!(parse("{\"by_op_type\": {\"GET\": 7}}").unwrap().by_kind["GET"].requests, 0);
    }
}
