//! The figures that netperf can be asked for by name, with the words above each, and how they are written.
//!
//! Names and words are the interface that scripts rely on, so they are netperf's. Figures that netperf itself no longer
//! fills say so as it does.

use super::command::{EarlyExit, wrong};
use super::figures::{EndFigures, ReportFigures};
use super::test::{NetperfTest, TestShape};

/// Name, and the lines above a column, with `|` between them.
pub(super) const SELECTORS: &[(&str, &str)] = &[
    ("SOCKET_TYPE", "Socket|Type"),
    ("PROTOCOL", "Protocol"),
    ("DIRECTION", "Direction"),
    ("ELAPSED_TIME", "Elapsed|Time|(sec)"),
    ("THROUGHPUT", "Throughput"),
    ("THROUGHPUT_UNITS", "Throughput|Units"),
    ("LSS_SIZE_REQ", "Local|Send Socket|Size|Requested"),
    ("LSS_SIZE", "Local|Send Socket|Size|Initial"),
    ("LSS_SIZE_END", "Local|Send Socket|Size|Final"),
    ("LSR_SIZE_REQ", "Local|Recv Socket|Size|Requested"),
    ("LSR_SIZE", "Local|Recv Socket|Size|Initial"),
    ("LSR_SIZE_END", "Local|Recv Socket|Size|Final"),
    ("RSS_SIZE_REQ", "Remote|Send Socket|Size|Requested"),
    ("RSS_SIZE", "Remote|Send Socket|Size|Initial"),
    ("RSS_SIZE_END", "Remote|Send Socket|Size|Final"),
    ("RSR_SIZE_REQ", "Remote|Recv Socket|Size|Requested"),
    ("RSR_SIZE", "Remote|Recv Socket|Size|Initial"),
    ("RSR_SIZE_END", "Remote|Recv Socket|Size|Final"),
    ("LOCAL_SEND_SIZE", "Local|Send|Size"),
    ("LOCAL_RECV_SIZE", "Local|Recv|Size"),
    ("REMOTE_SEND_SIZE", "Remote|Send|Size"),
    ("REMOTE_RECV_SIZE", "Remote|Recv|Size"),
    ("REQUEST_SIZE", "Request|Size|Bytes"),
    ("RESPONSE_SIZE", "Response|Size|Bytes"),
    ("LOCAL_CPU_UTIL", "Local|CPU|Util|%"),
    ("LOCAL_CPU_PERCENT_USER", "Local|CPU|User|%"),
    ("LOCAL_CPU_PERCENT_SYSTEM", "Local|CPU|System|%"),
    ("LOCAL_CPU_PERCENT_IOWAIT", "Local|CPU|I/O|%"),
    ("LOCAL_CPU_PERCENT_IRQ", "Local|CPU|IRQ|%"),
    ("LOCAL_CPU_PERCENT_SWINTR", "Local|CPU|swintr|%"),
    ("LOCAL_CPU_METHOD", "Local|CPU|Util|Method"),
    ("LOCAL_SD", "Local|Service|Demand"),
    ("REMOTE_CPU_UTIL", "Remote|CPU|Util|%"),
    ("REMOTE_CPU_PERCENT_USER", "Remote|CPU|User|%"),
    ("REMOTE_CPU_PERCENT_SYSTEM", "Remote|CPU|System|%"),
    ("REMOTE_CPU_PERCENT_IOWAIT", "Remote|CPU|I/O|%"),
    ("REMOTE_CPU_PERCENT_IRQ", "Remote|CPU|IRQ|%"),
    ("REMOTE_CPU_PERCENT_SWINTR", "Remote|CPU|swintr|%"),
    ("REMOTE_CPU_METHOD", "Remote|CPU|Util|Method"),
    ("REMOTE_SD", "Remote|Service|Demand"),
    ("SD_UNITS", "Service|Demand|Units"),
    ("CONFIDENCE_LEVEL", "Confidence|Level|Percent"),
    ("CONFIDENCE_INTERVAL", "Confidence|Width|Target"),
    ("CONFIDENCE_ITERATION", "Confidence|Iterations|Run"),
    ("THROUGHPUT_CONFID", "Throughput|Confidence|Width (%)"),
    ("LOCAL_CPU_CONFID", "Local|CPU|Confidence|Width (%)"),
    ("REMOTE_CPU_CONFID", "Remote|CPU|Confidence|Width (%)"),
    ("TRANSACTION_RATE", "Transaction|Rate|Tran/s"),
    ("RT_LATENCY", "Round|Trip|Latency|usec/tran"),
    ("BURST_SIZE", "Initial|Burst|Requests"),
    ("LOCAL_TRANSPORT_RETRANS", "Local|Transport|Retransmissions"),
    ("REMOTE_TRANSPORT_RETRANS", "Remote|Transport|Retransmissions"),
    ("TRANSPORT_MSS", "Transport|MSS|bytes"),
    ("LOCAL_SEND_THROUGHPUT", "Local|Send|Throughput"),
    ("LOCAL_RECV_THROUGHPUT", "Local|Recv|Throughput"),
    ("REMOTE_SEND_THROUGHPUT", "Remote|Send|Throughput"),
    ("REMOTE_RECV_THROUGHPUT", "Remote|Recv|Throughput"),
    ("LOCAL_CPU_BIND", "Local|CPU|Bind"),
    ("LOCAL_CPU_COUNT", "Local|CPU|Count"),
    ("LOCAL_CPU_PEAK_UTIL", "Local|Peak|Per CPU|Util %"),
    ("LOCAL_CPU_PEAK_ID", "Local|Peak|Per CPU|ID"),
    ("LOCAL_CPU_MODEL", "Local|CPU|Model"),
    ("LOCAL_CPU_FREQUENCY", "Local|CPU|Frequency|MHz"),
    ("REMOTE_CPU_BIND", "Remote|CPU|Bind"),
    ("REMOTE_CPU_COUNT", "Remote|CPU|Count"),
    ("REMOTE_CPU_PEAK_UTIL", "Remote|Peak|Per CPU|Util %"),
    ("REMOTE_CPU_PEAK_ID", "Remote|Peak|Per CPU|ID"),
    ("REMOTE_CPU_MODEL", "Remote|CPU|Model"),
    ("REMOTE_CPU_FREQUENCY", "Remote|CPU|Frequency|MHz"),
    ("SOURCE_PORT", "Source|Port"),
    ("SOURCE_ADDR", "Source|Address"),
    ("SOURCE_FAMILY", "Source|Family"),
    ("DEST_PORT", "Destination|Port"),
    ("DEST_ADDR", "Destination|Address"),
    ("DEST_FAMILY", "Destination|Family"),
    ("LOCAL_SEND_CALLS", "Local|Send|Calls"),
    ("LOCAL_RECV_CALLS", "Local|Recv|Calls"),
    ("LOCAL_BYTES_PER_RECV", "Local|Bytes|Per|Recv"),
    ("LOCAL_BYTES_PER_SEND", "Local|Bytes|Per|Send"),
    ("LOCAL_BYTES_SENT", "Local|Bytes|Sent"),
    ("LOCAL_BYTES_RECVD", "Local|Bytes|Received"),
    ("LOCAL_BYTES_XFERD", "Local|Bytes|Xferred"),
    ("LOCAL_SEND_OFFSET", "Local|Send|Offset"),
    ("LOCAL_RECV_OFFSET", "Local|Recv|Offset"),
    ("LOCAL_SEND_ALIGN", "Local|Send|Alignment"),
    ("LOCAL_RECV_ALIGN", "Local|Recv|Alignment"),
    ("LOCAL_SEND_WIDTH", "Local|Send|Width"),
    ("LOCAL_RECV_WIDTH", "Local|Recv|Width"),
    ("LOCAL_SEND_DIRTY_COUNT", "Local|Send|Dirty|Count"),
    ("LOCAL_RECV_DIRTY_COUNT", "Local|Recv|Dirty|Count"),
    ("LOCAL_RECV_CLEAN_COUNT", "Local|Recv|Clean|Count"),
    ("LOCAL_NODELAY", "Local|NODELAY"),
    ("LOCAL_CORK", "Local|Cork"),
    ("REMOTE_SEND_CALLS", "Remote|Send|Calls"),
    ("REMOTE_RECV_CALLS", "Remote|Recv|Calls"),
    ("REMOTE_BYTES_PER_RECV", "Remote|Bytes|Per|Recv"),
    ("REMOTE_BYTES_PER_SEND", "Remote|Bytes|Per|Send"),
    ("REMOTE_BYTES_SENT", "Remote|Bytes|Sent"),
    ("REMOTE_BYTES_RECVD", "Remote|Bytes|Received"),
    ("REMOTE_BYTES_XFERD", "Remote|Bytes|Xferred"),
    ("REMOTE_SEND_OFFSET", "Remote|Send|Offset"),
    ("REMOTE_RECV_OFFSET", "Remote|Recv|Offset"),
    ("REMOTE_SEND_ALIGN", "Remote|Send|Alignment"),
    ("REMOTE_RECV_ALIGN", "Remote|Recv|Alignment"),
    ("REMOTE_SEND_WIDTH", "Remote|Send|Width"),
    ("REMOTE_RECV_WIDTH", "Remote|Recv|Width"),
    ("REMOTE_SEND_DIRTY_COUNT", "Remote|Send|Dirty|Count"),
    ("REMOTE_RECV_DIRTY_COUNT", "Remote|Recv|Dirty|Count"),
    ("REMOTE_RECV_CLEAN_COUNT", "Remote|Recv|Clean|Count"),
    ("REMOTE_NODELAY", "Remote|NODELAY"),
    ("REMOTE_CORK", "Remote|Cork"),
    ("LOCAL_SYSNAME", "Local|Sysname"),
    ("LOCAL_SYSTEM_MODEL", "Local|System|Model"),
    ("LOCAL_RELEASE", "Local|Release"),
    ("LOCAL_VERSION", "Local|Version"),
    ("LOCAL_MACHINE", "Local|Machine"),
    ("REMOTE_SYSNAME", "Remote|Sysname"),
    ("REMOTE_SYSTEM_MODEL", "Remote|System|Model"),
    ("REMOTE_RELEASE", "Remote|Release"),
    ("REMOTE_VERSION", "Remote|Version"),
    ("REMOTE_MACHINE", "Remote|Machine"),
    ("LOCAL_INTERFACE_NAME", "Local|Interface|Name"),
    ("LOCAL_INTERFACE_VENDOR", "Local|Interface|Vendor"),
    ("LOCAL_INTERFACE_DEVICE", "Local|Interface|Device"),
    ("LOCAL_INTERFACE_SUBVENDOR", "Local|Interface|Subvendor"),
    ("LOCAL_INTERFACE_SUBDEVICE", "Local|Interface|Subdevice"),
    ("LOCAL_DRIVER_NAME", "Local|Driver|Name"),
    ("LOCAL_DRIVER_VERSION", "Local|Driver|Version"),
    ("LOCAL_DRIVER_FIRMWARE", "Local|Driver|Firmware"),
    ("LOCAL_DRIVER_BUS", "Local|Driver|Bus"),
    ("LOCAL_INTERFACE_SLOT", "Local|Interface|Slot"),
    ("REMOTE_INTERFACE_NAME", "Remote|Interface|Name"),
    ("REMOTE_INTERFACE_VENDOR", "Remote|Interface|Vendor"),
    ("REMOTE_INTERFACE_DEVICE", "Remote|Interface|Device"),
    ("REMOTE_INTERFACE_SUBVENDOR", "Remote|Interface|Subvendor"),
    ("REMOTE_INTERFACE_SUBDEVICE", "Remote|Interface|Subdevice"),
    ("REMOTE_DRIVER_NAME", "Remote|Driver|Name"),
    ("REMOTE_DRIVER_VERSION", "Remote|Driver|Version"),
    ("REMOTE_DRIVER_FIRMWARE", "Remote|Driver|Firmware"),
    ("REMOTE_DRIVER_BUS", "Remote|Driver|Bus"),
    ("REMOTE_INTERFACE_SLOT", "Remote|Interface|Slot"),
    ("LOCAL_INTERVAL_USECS", "Local|Interval|Usecs"),
    ("LOCAL_INTERVAL_BURST", "Local|Interval|Burst"),
    ("REMOTE_INTERVAL_USECS", "Remote|Interval|Usecs"),
    ("REMOTE_INTERVAL_BURST", "Remote|Interval|Burst"),
    ("LOCAL_SECURITY_TYPE_ID", "Local|OS|Security|Type ID"),
    ("LOCAL_SECURITY_TYPE", "Local|OS|Security|Type"),
    ("LOCAL_SECURITY_ENABLED_NUM", "Local|OS|Security|Enabled Num"),
    ("LOCAL_SECURITY_ENABLED", "Local|OS|Security|Enabled"),
    ("LOCAL_SECURITY_SPECIFIC", "Local|OS|Security|Specific"),
    ("REMOTE_SECURITY_TYPE_ID", "Remote|OS|Security|Type"),
    ("REMOTE_SECURITY_TYPE", "Remote|OS|Security|Type"),
    ("REMOTE_SECURITY_ENABLED_NUM", "Remote|OS|Security|Enabled"),
    ("REMOTE_SECURITY_ENABLED", "Remote|OS|Security|Enabled"),
    ("REMOTE_SECURITY_SPECIFIC", "Remote|OS|Security|Specific"),
    ("RESULT_BRAND", "Result|Tag"),
    ("UUID", "Test|UUID"),
    ("MIN_LATENCY", "Minimum|Latency|Microseconds"),
    ("MAX_LATENCY", "Maximum|Latency|Microseconds"),
    ("P50_LATENCY", "50th|Percentile|Latency|Microseconds"),
    ("P90_LATENCY", "90th|Percentile|Latency|Microseconds"),
    ("P99_LATENCY", "99th|Percentile|Latency|Microseconds"),
    ("MEAN_LATENCY", "Mean|Latency|Microseconds"),
    ("STDDEV_LATENCY", "Stddev|Latency|Microseconds"),
    ("LOCAL_SOCKET_PRIO", "Local|Socket|Priority"),
    ("REMOTE_SOCKET_PRIO", "Remote|Socket|Priority"),
    ("LOCAL_SOCKET_TOS", "Local|Socket|TOS"),
    ("REMOTE_SOCKET_TOS", "Remote|Socket|TOS"),
    ("LOCAL_CONG_CONTROL", "Local|Congestion|Control|Algorithm"),
    ("REMOTE_CONG_CONTROL", "Remote|Congestion|Control|Algorithm"),
    ("LOCAL_FILL_FILE", "Local|Fill|File"),
    ("REMOTE_FILL_FILE", "Remote|Fill|File"),
    ("COMMAND_LINE", "Command|Line"),
];

/// Lines above a column.
const HEADING_LINES: usize = 4;
/// Where the blocks of `-O all` begin.
const BLOCKS: [&str; 4] = ["SOCKET_TYPE", "LOCAL_CPU_UTIL", "LOCAL_SEND_THROUGHPUT", "LOCAL_SYSNAME"];
const CPU: &str = "CPU_UTIL,CPU_PERCENT_USER,CPU_PERCENT_SYSTEM,CPU_PERCENT_IOWAIT,CPU_PERCENT_IRQ,CPU_PERCENT_SWINTR,\
                   CPU_METHOD";

/// The selector of that name, whatever its letters' size.
pub(super) fn find(name: &str) -> Option<usize> {
    SELECTORS.iter().position(|(known, _)| known.eq_ignore_ascii_case(name.trim()))
}

/// A list with commas.
///
/// # Errors
/// A name that is none.
pub(super) fn list(text: &str) -> Result<Vec<usize>, EarlyExit> {
    let one = |name: &str| {
        let near =
            crate::option::nearest(&name.to_ascii_uppercase(), SELECTORS.iter().map(|(known, _)| *known));
        let hint =
            near.map_or_else(|| "? shows what there is".into(), |near| format!("did you mean {near}?"));
        find(name).ok_or_else(|| wrong(&format!("no output selector `{name}`"), &hint))
    };
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(one).collect()
}

/// All names, as `-k ?` shows them.
pub(super) fn all_names() -> String {
    let names: Vec<&str> = SELECTORS.iter().map(|(name, _)| *name).collect();
    format!("OUTPUT_NONE,{},OUTPUT_END\n", names.join(","))
}

/// All selectors, in the blocks of `-O all`.
pub(super) fn blocks() -> Vec<Vec<usize>> {
    let mut starts: Vec<usize> = BLOCKS.iter().filter_map(|name| find(name)).collect();
    starts.push(SELECTORS.len());
    starts.windows(2).map(|pair| (pair[0]..pair[1]).collect()).collect()
}

/// The selectors of a test that names none.
pub(super) fn usual(test: &NetperfTest, cpu: (bool, bool)) -> Vec<usize> {
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
pub(super) fn names(list: &[usize], figures: &ReportFigures) -> String {
    let line = |index: &usize| {
        let (name, value) = (SELECTORS[*index].0, value(*index, figures));
        let left_out = name == "RESULT_BRAND" && value.is_empty();
        if left_out { String::new() } else { format!("{name}={value}\n") }
    };
    list.iter().map(line).collect()
}

/// A line of headings, unless they are not wanted, and one of values, with commas.
pub(super) fn commas(list: &[usize], figures: &ReportFigures, bare: bool) -> String {
    let headings: Vec<String> = list.iter().map(|index| SELECTORS[*index].1.replace('|', " ")).collect();
    let values: Vec<String> = list.iter().map(|index| value(*index, figures)).collect();
    let headings = if bare { String::new() } else { headings.join(",") + "\n" };
    format!("{headings}{}\n", values.join(","))
}

/// Columns, with the headings above them unless they are not wanted; an empty line between two blocks.
pub(super) fn columns(lists: &[Vec<usize>], figures: &ReportFigures, bare: bool) -> String {
    lists.iter().map(|list| block(list, figures, bare)).collect::<Vec<_>>().join("\n")
}

fn block(list: &[usize], figures: &ReportFigures, bare: bool) -> String {
    let mut lines = vec![String::new(); HEADING_LINES + 1];
    for index in list {
        let headings: Vec<&str> = SELECTORS[*index].1.split('|').collect();
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

/// The value of a selector.
fn value(index: usize, figures: &ReportFigures) -> String {
    let name = SELECTORS[index].0;
    if let Some(name) = name.strip_prefix("LOCAL_") {
        return of_side(
            name,
            &figures.local,
            &figures.throughput_of(figures.local.sent, figures.local.received),
        );
    }
    if let Some(name) = name.strip_prefix("REMOTE_") {
        return of_side(
            name,
            &figures.remote,
            &figures.throughput_of(figures.remote.sent, figures.remote.received),
        );
    }
    sizes(name, figures).unwrap_or_else(|| of_all(name, figures))
}

/// Sizes of sockets' buffers: L or R for the side, S or R for the direction.
fn sizes(name: &str, figures: &ReportFigures) -> Option<String> {
    let (which, of) = name.split_once("_SIZE")?;
    let side = match which.as_bytes() {
        [b'L', b'S', b'S' | b'R'] => &figures.local,
        [b'R', b'S', b'S' | b'R'] => &figures.remote,
        _ => return None,
    };
    let sizes = if which.as_bytes()[2] == b'S' { side.send_buffer } else { side.receive_buffer };
    Some(match of {
        "_REQ" => sizes.0.to_string(),
        "" => sizes.1.to_string(),
        _ => sizes.2.to_string(),
    })
}

fn of_all(name: &str, figures: &ReportFigures) -> String {
    let us = |ns: u64| (ns / 1000).to_string();
    let latency = &figures.latency;
    match name {
        "SOCKET_TYPE" => (if figures.udp { "Datagram" } else { "Stream" }).into(),
        "PROTOCOL" => (if figures.udp { "UDP" } else { "TCP" }).into(),
        "DIRECTION" => figures.direction.into(),
        "ELAPSED_TIME" => format!("{:.2}", figures.elapsed_s),
        "THROUGHPUT" => format!("{:.2}", figures.throughput),
        "THROUGHPUT_UNITS" => figures.units.clone(),
        "REQUEST_SIZE" => figures.request.to_string(),
        "RESPONSE_SIZE" => figures.response.to_string(),
        "SD_UNITS" => (if figures.transactions.is_some() { "usec/Tran" } else { "usec/KB" }).into(),
        "CONFIDENCE_LEVEL" => figures.confidence.level.to_string(),
        "CONFIDENCE_INTERVAL" => format!("{:.6}", figures.confidence.target),
        "CONFIDENCE_ITERATION" => figures.confidence.runs.to_string(),
        "THROUGHPUT_CONFID" => format!("{:.3}", figures.confidence.widths[0]),
        "TRANSACTION_RATE" => format!("{:.3}", figures.transaction_rate()),
        "RT_LATENCY" => format!("{:.3}", figures.round_trip_us()),
        "BURST_SIZE" => figures.burst.to_string(),
        "TRANSPORT_MSS" => figures.mss.to_string(),
        "SOURCE_PORT" | "DEST_PORT" => "0".into(),
        "SOURCE_ADDR" => figures.source.clone(),
        "DEST_ADDR" => figures.destination.clone(),
        "SOURCE_FAMILY" => (if figures.source_named { figures.family } else { 0 }).to_string(),
        "DEST_FAMILY" => figures.family.to_string(),
        "RESULT_BRAND" => figures.brand.clone(),
        "UUID" => figures.uuid.clone(),
        "MIN_LATENCY" => us(latency.min),
        "MAX_LATENCY" => us(latency.max),
        "P50_LATENCY" => us(latency.percentile(50.0)),
        "P90_LATENCY" => us(latency.percentile(90.0)),
        "P99_LATENCY" => us(latency.percentile(99.0)),
        "MEAN_LATENCY" => format!("{:.2}", latency.mean() / 1000.0),
        "STDDEV_LATENCY" => format!("{:.2}", latency.deviation() / 1000.0),
        "COMMAND_LINE" => format!("\"{}\"", figures.line),
        _ => String::new(),
    }
}

/// A figure that both sides have; rates out and in are given.
fn of_side(name: &str, side: &EndFigures, rates: &(f64, f64)) -> String {
    let per = |bytes: u64, calls: u64| if calls == 0 { 0.0 } else { bytes as f64 / calls as f64 };
    match name {
        "SEND_SIZE" => side.send_size.to_string(),
        "RECV_SIZE" => side.receive_size.to_string(),
        "SD" => format!("{:.3}", side.demand),
        "TRANSPORT_RETRANS" => side.retransmits.to_string(),
        "SEND_THROUGHPUT" => format!("{:.2}", rates.0),
        "RECV_THROUGHPUT" => format!("{:.2}", rates.1),
        "SEND_CALLS" => side.send_calls.to_string(),
        "RECV_CALLS" => side.receive_calls.to_string(),
        "BYTES_PER_RECV" => format!("{:.2}", per(side.received, side.receive_calls)),
        "BYTES_PER_SEND" => format!("{:.2}", per(side.sent, side.send_calls)),
        "BYTES_SENT" => side.sent.to_string(),
        "BYTES_RECVD" => side.received.to_string(),
        "BYTES_XFERD" => (side.sent + side.received).to_string(),
        "SEND_OFFSET" => side.offset.0.to_string(),
        "RECV_OFFSET" => side.offset.1.to_string(),
        "SEND_ALIGN" => side.align.0.to_string(),
        "RECV_ALIGN" => side.align.1.to_string(),
        "SEND_WIDTH" | "RECV_WIDTH" => "1".into(),
        "SEND_DIRTY_COUNT" | "RECV_DIRTY_COUNT" | "RECV_CLEAN_COUNT" => "-1".into(),
        "NODELAY" => u8::from(side.nodelay).to_string(),
        "CORK" => u8::from(side.cork).to_string(),
        "INTERVAL_USECS" => side.interval.1.to_string(),
        "INTERVAL_BURST" => side.interval.0.to_string(),
        "SOCKET_PRIO" => side.priority.map_or_else(|| "-1".into(), |priority| priority.to_string()),
        "SOCKET_TOS" => side.tos.map_or_else(|| "0xffffffff".into(), |tos| format!("0x{tos:02x}")),
        "CONG_CONTROL" => side.congestion.clone(),
        "FILL_FILE" => side.fill.clone(),
        "SECURITY_TYPE_ID" | "SECURITY_ENABLED_NUM" => "0".into(),
        "CPU_CONFID" => format!("{:.3}", side.confidence),
        _ if name.starts_with("CPU_") => of_processors(&name[4..], side),
        _ if name.contains("VENDOR") || name.contains("DEVICE") => "0xfffffffe".into(),
        _ => "Deprecated".into(),
    }
}

fn of_processors(name: &str, side: &EndFigures) -> String {
    let cpu = side.cpu.as_ref();
    let share = |of: fn(&super::figures::Cpu) -> f64| format!("{:.2}", cpu.map_or(0.0, of));
    match name {
        "UTIL" => format!("{:.2}", cpu.map_or(-1.0, |cpu| cpu.used_percent)),
        "PERCENT_USER" => share(|cpu| cpu.user_percent),
        "PERCENT_SYSTEM" => share(|cpu| cpu.system_percent),
        "PERCENT_IOWAIT" => share(|cpu| cpu.iowait_percent),
        "PERCENT_IRQ" => share(|cpu| cpu.irq_percent),
        "PERCENT_SWINTR" => share(|cpu| cpu.softirq_percent),
        "METHOD" => side.method().to_string(),
        "BIND" => side.processor.map_or(-1, i64::from).to_string(),
        "COUNT" => cpu.map_or(0, |cpu| cpu.count).to_string(),
        "PEAK_UTIL" => format!("{:.2}", cpu.map_or(0.0, |cpu| cpu.peak_percent)),
        "PEAK_ID" => cpu.map_or(0, |cpu| cpu.peak).to_string(),
        "FREQUENCY" => "0".into(),
        _ => "Deprecated".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_every_selector_once() {
        let all: Vec<usize> = blocks().concat();
        assert_eq!(all, (0..SELECTORS.len()).collect::<Vec<_>>());
        assert!(SELECTORS.iter().all(|(_, headings)| headings.split('|').count() <= HEADING_LINES));
        assert!(
            all_names().starts_with("OUTPUT_NONE,SOCKET_TYPE,")
                && all_names().ends_with("COMMAND_LINE,OUTPUT_END\n")
        );
        assert!(list("throughput, P99_LATENCY").is_ok());
        assert!(
            matches!(list("THROUGHPUTS"), Err(EarlyExit::Refuse(text, 1)) if text.contains("mean THROUGHPUT?"))
        );
    }
}
