//! The figures that netperf can be asked for by name, with the words above each, and how they are written.
//!
//! Names and words are the interface that scripts rely on, so they are netperf's. Figures that netperf itself no longer
//! fills say so as it does.

use super::super::command::{EarlyExit, wrong};
use super::super::figures::{Cpu, EndFigures, ReportFigures};
use super::super::test::{NetperfTest, TestShape};

/// A figure that can be asked for.
pub(in super::super) struct Selector {
    name: &'static str,
    /// The lines above its column, with `|` between them.
    heading: &'static str,
    value: SelectorValue,
}

/// What a selector is worth: of the test, of our end, or of netserver's.
enum SelectorValue {
    Test(fn(&ReportFigures) -> String),
    Local(fn(&EndFigures) -> String),
    Remote(fn(&EndFigures) -> String),
}

/// Selectors of the test, and selectors that both ends have: first all of ours, then all of netserver's.
macro_rules! selectors {
    ($(test { $($name:literal $heading:literal $value:expr;)* }
       ends { $($of:literal $above:literal $figure:expr;)* })*) => {
        &[$(
            $(Selector { name: $name, heading: $heading, value: SelectorValue::Test($value) },)*
            $(Selector {
                name: concat!("LOCAL_", $of),
                heading: concat!("Local|", $above),
                value: SelectorValue::Local($figure),
            },)*
            $(Selector {
                name: concat!("REMOTE_", $of),
                heading: concat!("Remote|", $above),
                value: SelectorValue::Remote($figure),
            },)*
        )*]
    };
}

/// All selectors, in netperf's order.
pub(in super::super) const SELECTORS: &[Selector] = selectors! {
    test {
        "SOCKET_TYPE" "Socket|Type" |f| if f.udp { "Datagram" } else { "Stream" }.into();
        "PROTOCOL" "Protocol" |f| if f.udp { "UDP" } else if f.sctp { "SCTP" } else { "TCP" }.into();
        "DIRECTION" "Direction" |f| f.direction.into();
        "ELAPSED_TIME" "Elapsed|Time|(sec)" |f| two_digits(f.elapsed_s);
        "THROUGHPUT" "Throughput" |f| two_digits(f.throughput);
        "THROUGHPUT_UNITS" "Throughput|Units" |f| f.units.clone();
        "LSS_SIZE_REQ" "Local|Send Socket|Size|Requested" |f| f.local.send_buffer.0.to_string();
        "LSS_SIZE" "Local|Send Socket|Size|Initial" |f| f.local.send_buffer.1.to_string();
        "LSS_SIZE_END" "Local|Send Socket|Size|Final" |f| f.local.send_buffer.2.to_string();
        "LSR_SIZE_REQ" "Local|Recv Socket|Size|Requested" |f| f.local.receive_buffer.0.to_string();
        "LSR_SIZE" "Local|Recv Socket|Size|Initial" |f| f.local.receive_buffer.1.to_string();
        "LSR_SIZE_END" "Local|Recv Socket|Size|Final" |f| f.local.receive_buffer.2.to_string();
        "RSS_SIZE_REQ" "Remote|Send Socket|Size|Requested" |f| f.remote.send_buffer.0.to_string();
        "RSS_SIZE" "Remote|Send Socket|Size|Initial" |f| f.remote.send_buffer.1.to_string();
        "RSS_SIZE_END" "Remote|Send Socket|Size|Final" |f| f.remote.send_buffer.2.to_string();
        "RSR_SIZE_REQ" "Remote|Recv Socket|Size|Requested" |f| f.remote.receive_buffer.0.to_string();
        "RSR_SIZE" "Remote|Recv Socket|Size|Initial" |f| f.remote.receive_buffer.1.to_string();
        "RSR_SIZE_END" "Remote|Recv Socket|Size|Final" |f| f.remote.receive_buffer.2.to_string();
    }
    ends {
        "SEND_SIZE" "Send|Size" |e| e.send_size.to_string();
        "RECV_SIZE" "Recv|Size" |e| e.receive_size.to_string();
    }
    test {
        "REQUEST_SIZE" "Request|Size|Bytes" |f| f.request.to_string();
        "RESPONSE_SIZE" "Response|Size|Bytes" |f| f.response.to_string();
    }
    ends {
        "CPU_UTIL" "CPU|Util|%" |e| two_digits(e.cpu.as_ref().map_or(-1.0, |cpu| cpu.used_percent));
        "CPU_PERCENT_USER" "CPU|User|%" |e| of_cpu(e, |cpu| cpu.user_percent);
        "CPU_PERCENT_SYSTEM" "CPU|System|%" |e| of_cpu(e, |cpu| cpu.system_percent);
        "CPU_PERCENT_IOWAIT" "CPU|I/O|%" |e| of_cpu(e, |cpu| cpu.iowait_percent);
        "CPU_PERCENT_IRQ" "CPU|IRQ|%" |e| of_cpu(e, |cpu| cpu.irq_percent);
        "CPU_PERCENT_SWINTR" "CPU|swintr|%" |e| of_cpu(e, |cpu| cpu.softirq_percent);
        "CPU_METHOD" "CPU|Util|Method" |e| e.method().to_string();
        "SD" "Service|Demand" |e| three_digits(e.demand);
    }
    test {
        "SD_UNITS" "Service|Demand|Units" |f| if f.transactions.is_some() { "usec/Tran" } else { "usec/KB" }.into();
        "CONFIDENCE_LEVEL" "Confidence|Level|Percent" |f| f.confidence.level.to_string();
        "CONFIDENCE_INTERVAL" "Confidence|Width|Target" |f| format!("{:.6}", f.confidence.target);
        "CONFIDENCE_ITERATION" "Confidence|Iterations|Run" |f| f.confidence.runs.to_string();
        "THROUGHPUT_CONFID" "Throughput|Confidence|Width (%)" |f| three_digits(f.confidence.widths[0]);
    }
    ends {
        "CPU_CONFID" "CPU|Confidence|Width (%)" |e| three_digits(e.confidence);
    }
    test {
        "TRANSACTION_RATE" "Transaction|Rate|Tran/s" |f| three_digits(f.transaction_rate());
        "RT_LATENCY" "Round|Trip|Latency|usec/tran" |f| three_digits(f.round_trip_us());
        "BURST_SIZE" "Initial|Burst|Requests" |f| f.burst.to_string();
    }
    ends {
        "TRANSPORT_RETRANS" "Transport|Retransmissions" |e| e.retransmits.to_string();
    }
    test {
        "TRANSPORT_MSS" "Transport|MSS|bytes" |f| f.mss.to_string();
        "LOCAL_SEND_THROUGHPUT" "Local|Send|Throughput" |f| two_digits(f.rates(&f.local).0);
        "LOCAL_RECV_THROUGHPUT" "Local|Recv|Throughput" |f| two_digits(f.rates(&f.local).1);
        "REMOTE_SEND_THROUGHPUT" "Remote|Send|Throughput" |f| two_digits(f.rates(&f.remote).0);
        "REMOTE_RECV_THROUGHPUT" "Remote|Recv|Throughput" |f| two_digits(f.rates(&f.remote).1);
    }
    ends {
        "CPU_BIND" "CPU|Bind" |e| e.processor.map_or(-1, i64::from).to_string();
        "CPU_COUNT" "CPU|Count" |e| e.cpu.as_ref().map_or(0, |cpu| cpu.count).to_string();
        "CPU_PEAK_UTIL" "Peak|Per CPU|Util %" |e| of_cpu(e, |cpu| cpu.peak_percent);
        "CPU_PEAK_ID" "Peak|Per CPU|ID" |e| e.cpu.as_ref().map_or(0, |cpu| cpu.peak).to_string();
        "CPU_MODEL" "CPU|Model" deprecated;
        "CPU_FREQUENCY" "CPU|Frequency|MHz" |_| "0".into();
    }
    test {
        "SOURCE_PORT" "Source|Port" |_| "0".into();
        "SOURCE_ADDR" "Source|Address" |f| f.source.clone();
        "SOURCE_FAMILY" "Source|Family" |f| if f.source_named { f.family } else { 0 }.to_string();
        "DEST_PORT" "Destination|Port" |_| "0".into();
        "DEST_ADDR" "Destination|Address" |f| f.destination.clone();
        "DEST_FAMILY" "Destination|Family" |f| f.family.to_string();
    }
    ends {
        "SEND_CALLS" "Send|Calls" |e| e.send_calls.to_string();
        "RECV_CALLS" "Recv|Calls" |e| e.receive_calls.to_string();
        "BYTES_PER_RECV" "Bytes|Per|Recv" |e| two_digits(per(e.received, e.receive_calls));
        "BYTES_PER_SEND" "Bytes|Per|Send" |e| two_digits(per(e.sent, e.send_calls));
        "BYTES_SENT" "Bytes|Sent" |e| e.sent.to_string();
        "BYTES_RECVD" "Bytes|Received" |e| e.received.to_string();
        "BYTES_XFERD" "Bytes|Xferred" |e| (e.sent + e.received).to_string();
        "SEND_OFFSET" "Send|Offset" |e| e.offset.0.to_string();
        "RECV_OFFSET" "Recv|Offset" |e| e.offset.1.to_string();
        "SEND_ALIGN" "Send|Alignment" |e| e.align.0.to_string();
        "RECV_ALIGN" "Recv|Alignment" |e| e.align.1.to_string();
        "SEND_WIDTH" "Send|Width" |_| "1".into();
        "RECV_WIDTH" "Recv|Width" |_| "1".into();
        "SEND_DIRTY_COUNT" "Send|Dirty|Count" |_| "-1".into();
        "RECV_DIRTY_COUNT" "Recv|Dirty|Count" |_| "-1".into();
        "RECV_CLEAN_COUNT" "Recv|Clean|Count" |_| "-1".into();
        "NODELAY" "NODELAY" |e| u8::from(e.nodelay).to_string();
        "CORK" "Cork" |e| u8::from(e.cork).to_string();
    }
    test {}
    ends {
        "SYSNAME" "Sysname" deprecated;
        "SYSTEM_MODEL" "System|Model" deprecated;
        "RELEASE" "Release" deprecated;
        "VERSION" "Version" deprecated;
        "MACHINE" "Machine" deprecated;
    }
    test {}
    ends {
        "INTERFACE_NAME" "Interface|Name" deprecated;
        "INTERFACE_VENDOR" "Interface|Vendor" |_| UNKNOWN_ID.into();
        "INTERFACE_DEVICE" "Interface|Device" |_| UNKNOWN_ID.into();
        "INTERFACE_SUBVENDOR" "Interface|Subvendor" |_| UNKNOWN_ID.into();
        "INTERFACE_SUBDEVICE" "Interface|Subdevice" |_| UNKNOWN_ID.into();
        "DRIVER_NAME" "Driver|Name" deprecated;
        "DRIVER_VERSION" "Driver|Version" deprecated;
        "DRIVER_FIRMWARE" "Driver|Firmware" deprecated;
        "DRIVER_BUS" "Driver|Bus" deprecated;
        "INTERFACE_SLOT" "Interface|Slot" deprecated;
    }
    test {}
    ends {
        "INTERVAL_USECS" "Interval|Usecs" |e| e.interval.1.to_string();
        "INTERVAL_BURST" "Interval|Burst" |e| e.interval.0.to_string();
    }
    test {
        "LOCAL_SECURITY_TYPE_ID" "Local|OS|Security|Type ID" |_| "0".into();
        "LOCAL_SECURITY_TYPE" "Local|OS|Security|Type" deprecated;
        "LOCAL_SECURITY_ENABLED_NUM" "Local|OS|Security|Enabled Num" |_| "0".into();
        "LOCAL_SECURITY_ENABLED" "Local|OS|Security|Enabled" deprecated;
        "LOCAL_SECURITY_SPECIFIC" "Local|OS|Security|Specific" deprecated;
        "REMOTE_SECURITY_TYPE_ID" "Remote|OS|Security|Type" |_| "0".into();
        "REMOTE_SECURITY_TYPE" "Remote|OS|Security|Type" deprecated;
        "REMOTE_SECURITY_ENABLED_NUM" "Remote|OS|Security|Enabled" |_| "0".into();
        "REMOTE_SECURITY_ENABLED" "Remote|OS|Security|Enabled" deprecated;
        "REMOTE_SECURITY_SPECIFIC" "Remote|OS|Security|Specific" deprecated;
        "RESULT_BRAND" "Result|Tag" |f| f.brand.clone();
        "UUID" "Test|UUID" |f| f.uuid.clone();
        "MIN_LATENCY" "Minimum|Latency|Microseconds" |f| whole_us(f.latency.min);
        "MAX_LATENCY" "Maximum|Latency|Microseconds" |f| whole_us(f.latency.max);
        "P50_LATENCY" "50th|Percentile|Latency|Microseconds" |f| whole_us(f.latency.percentile(50.0));
        "P90_LATENCY" "90th|Percentile|Latency|Microseconds" |f| whole_us(f.latency.percentile(90.0));
        "P99_LATENCY" "99th|Percentile|Latency|Microseconds" |f| whole_us(f.latency.percentile(99.0));
        "MEAN_LATENCY" "Mean|Latency|Microseconds" |f| two_digits(f.latency.mean() / 1000.0);
        "STDDEV_LATENCY" "Stddev|Latency|Microseconds" |f| two_digits(f.latency.deviation() / 1000.0);
    }
    ends {
        "SOCKET_PRIO" "Socket|Priority" |e| e.priority.map_or_else(|| "-1".into(), |priority| priority.to_string());
    }
    test {}
    ends {
        "SOCKET_TOS" "Socket|TOS" |e| e.tos.map_or_else(|| "0xffffffff".into(), |tos| format!("0x{tos:02x}"));
    }
    test {}
    ends {
        "CONG_CONTROL" "Congestion|Control|Algorithm" |e| e.congestion.clone();
    }
    test {}
    ends {
        "FILL_FILE" "Fill|File" |e| e.fill.clone();
    }
    test {
        "COMMAND_LINE" "Command|Line" |f| format!("\"{}\"", f.line);
    }
    ends {}
};

/// What netperf writes for an identifier that it does not know.
const UNKNOWN_ID: &str = "0xfffffffe";

/// What netperf itself no longer fills.
fn deprecated<T>(_: &T) -> String {
    "Deprecated".into()
}

fn two_digits(number: f64) -> String {
    format!("{number:.2}")
}

fn three_digits(number: f64) -> String {
    format!("{number:.3}")
}

fn whole_us(ns: u64) -> String {
    (ns / 1000).to_string()
}

fn per(bytes: u64, calls: u64) -> f64 {
    if calls == 0 { 0.0 } else { bytes as f64 / calls as f64 }
}

fn of_cpu(end: &EndFigures, of: fn(&Cpu) -> f64) -> String {
    two_digits(end.cpu.as_ref().map_or(0.0, of))
}

/// The value of a selector.
fn value(index: usize, figures: &ReportFigures) -> String {
    match SELECTORS[index].value {
        SelectorValue::Test(of) => of(figures),
        SelectorValue::Local(of) => of(&figures.local),
        SelectorValue::Remote(of) => of(&figures.remote),
    }
}

/// Lines above a column.
const HEADING_LINES: usize = 4;
/// Where the blocks of `-O all` begin.
const BLOCKS: [&str; 4] = ["SOCKET_TYPE", "LOCAL_CPU_UTIL", "LOCAL_SEND_THROUGHPUT", "LOCAL_SYSNAME"];
const CPU: &str = "CPU_UTIL,CPU_PERCENT_USER,CPU_PERCENT_SYSTEM,CPU_PERCENT_IOWAIT,CPU_PERCENT_IRQ,CPU_PERCENT_SWINTR,\
                   CPU_METHOD";

/// The selector of that name, whatever its letters' size.
pub(in super::super) fn find(name: &str) -> Option<usize> {
    SELECTORS.iter().position(|known| known.name.eq_ignore_ascii_case(name.trim()))
}

/// A list with commas.
///
/// # Errors
/// A name that is none.
pub(in super::super) fn list(text: &str) -> Result<Vec<usize>, EarlyExit> {
    let one = |name: &str| {
        let near =
            crate::option::nearest(&name.to_ascii_uppercase(), SELECTORS.iter().map(|known| known.name));
        let hint =
            near.map_or_else(|| "? shows what there is".into(), |near| format!("did you mean {near}?"));
        find(name).ok_or_else(|| wrong(&format!("no output selector `{name}`"), &hint))
    };
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(one).collect()
}

/// All names, as `-k ?` shows them with commas and `-O ?` on lines.
pub(in super::super) fn all_names(separator: &str) -> String {
    let known = SELECTORS.iter().map(|known| known.name);
    let names: Vec<&str> = ["OUTPUT_NONE"].into_iter().chain(known).chain(["OUTPUT_END"]).collect();
    names.join(separator) + "\n"
}

/// All selectors, in the blocks of `-O all`.
pub(in super::super) fn blocks() -> Vec<Vec<usize>> {
    let mut starts: Vec<usize> = BLOCKS.iter().filter_map(|name| find(name)).collect();
    starts.push(SELECTORS.len());
    starts.windows(2).map(|pair| (pair[0]..pair[1]).collect()).collect()
}

/// The selectors of a test that names none.
pub(in super::super) fn usual(test: &NetperfTest, cpu: (bool, bool)) -> Vec<usize> {
    let mut names = match test.shape() {
        TestShape::Sends => "LSS_SIZE_END,RSR_SIZE_END,LOCAL_SEND_SIZE".to_string(),
        TestShape::Receives => "RSS_SIZE_END,LSR_SIZE_END,REMOTE_SEND_SIZE".into(),
        TestShape::Transactions => {
            "LSS_SIZE_END,LSR_SIZE_END,RSR_SIZE_END,RSS_SIZE_END,REQUEST_SIZE,RESPONSE_SIZE".into()
        }
    };
    names += ",ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS";
    if cpu.0 || cpu.1 {
        CPU.split(',').for_each(|name| names += &format!(",LOCAL_{name}"));
        CPU.split(',').for_each(|name| names += &format!(",REMOTE_{name}"));
        names += ",LOCAL_SD,REMOTE_SD,SD_UNITS";
    }
    names.split(',').filter_map(find).collect()
}

/// `NAME=value`, one a line.
pub(in super::super) fn names(list: &[usize], figures: &ReportFigures) -> String {
    let line = |index: &usize| {
        let (name, value) = (SELECTORS[*index].name, value(*index, figures));
        let left_out = name == "RESULT_BRAND" && value.is_empty();
        if left_out { String::new() } else { format!("{name}={value}\n") }
    };
    list.iter().map(line).collect()
}

/// A line of headings, unless they are not wanted, and one of values, with commas.
pub(in super::super) fn commas(list: &[usize], figures: &ReportFigures, bare: bool) -> String {
    let headings: Vec<String> =
        list.iter().map(|index| SELECTORS[*index].heading.replace('|', " ")).collect();
    let values: Vec<String> = list.iter().map(|index| value(*index, figures)).collect();
    let headings = if bare { String::new() } else { headings.join(",") + "\n" };
    format!("{headings}{}\n", values.join(","))
}

/// Columns, with the headings above them unless they are not wanted; an empty line between two blocks.
pub(in super::super) fn columns(lists: &[Vec<usize>], figures: &ReportFigures, bare: bool) -> String {
    lists.iter().map(|list| block(list, figures, bare)).collect::<Vec<_>>().join("\n")
}

fn block(list: &[usize], figures: &ReportFigures, bare: bool) -> String {
    let mut lines = vec![String::new(); HEADING_LINES + 1];
    for index in list {
        let headings: Vec<&str> = SELECTORS[*index].heading.split('|').collect();
        let value = value(*index, figures);
        let widest = headings.iter().map(|heading| heading.len()).max().unwrap_or(0);
        let width = widest.max(value.len() + 1);
        for (line, text) in lines.iter_mut().enumerate() {
            let cell = if line < HEADING_LINES { headings.get(line).copied().unwrap_or("") } else { &value };
            *text += &format!("{cell:width$} ");
        }
    }
    let from = if bare { HEADING_LINES } else { 0 };
    lines[from..].iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_every_selector_once() {
        let all: Vec<usize> = blocks().concat();
        assert_eq!(all, (0..SELECTORS.len()).collect::<Vec<_>>());
        assert!(SELECTORS.iter().all(|known| known.heading.split('|').count() <= HEADING_LINES));
        assert!(
            all_names(",").starts_with("OUTPUT_NONE,SOCKET_TYPE,")
                && all_names(",").ends_with("COMMAND_LINE,OUTPUT_END\n")
        );
        assert!(list("throughput, P99_LATENCY").is_ok());
        assert!(
            matches!(list("THROUGHPUTS"), Err(EarlyExit::Refuse(text, 1)) if text.contains("mean THROUGHPUT?"))
        );
    }
}
