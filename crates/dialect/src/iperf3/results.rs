//! The results that client and server exchange, as JSON, written and read.
//!
//! Packets and losses count from the first packet, and omitted ones apart: peers before 3.13 send none of
//! these, and then none are taken off.

use serde_json::Value;

use crate::json_tree::JsonTree;

/// No count is larger than this.
const MOST: f64 = (1u64 << 53) as f64;

/// One side's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestResults {
    /// Percent of one processor: all, user, system.
    pub cpu: [f64; 3],
    /// Whether it knows of its retransmits: -1 it does not send, 0 no, 1 yes.
    pub has_retransmits: i64,
    /// Its congestion control; empty: none.
    pub congestion: String,
    /// What the server printed, as text or as JSON.
    pub server_output: Option<Value>,
    pub streams: Vec<StreamResults>,
}

/// One stream as one side counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StreamResults {
    /// 1, 3, 4, 5, …
    pub id: u64,
    /// Without what was omitted.
    pub bytes: u64,
    /// -1: not known.
    pub retransmits: i64,
    /// Seconds.
    pub jitter_s: f64,
    /// Packets lost, since the first.
    pub lost: i64,
    /// Of these omitted.
    pub omitted_lost: i64,
    /// Packets, since the first.
    pub packets: i64,
    /// Of these omitted.
    pub omitted_packets: i64,
    pub seconds: f64,
    /// Of the lost ones those that found the receive buffer full; 0: none, or the peer does not tell.
    pub overflow: u64,
}

/// A key of ours: other peers ignore it.
const OVERFLOW: &str = "iodyno_overflow";

impl TestResults {
    /// As it is sent.
    pub fn json(&self) -> JsonTree {
        let mut all = JsonTree::object([
            ("cpu_util_total", self.cpu[0].into()),
            ("cpu_util_user", self.cpu[1].into()),
            ("cpu_util_system", self.cpu[2].into()),
            ("sender_has_retransmits", self.has_retransmits.into()),
        ]);
        let congestion = Some(("congestion_used", self.congestion.as_str()));
        all.extend(congestion.filter(|(_, name)| !name.is_empty()));
        all.extend(self.server_output.as_ref().map(|output| match output {
            Value::String(text) => ("server_output_text", text.as_str().into()),
            document => ("server_output_json", JsonTree::from(document)),
        }));
        all.push("streams", self.streams.iter().map(StreamResults::json).collect::<Vec<_>>());
        all
    }

    /// As the peer sent it.
    ///
    /// # Errors
    /// What is missing.
    pub fn of(value: &Value) -> Result<TestResults, String> {
        let streams =
            value.get("streams").and_then(Value::as_array).ok_or("the results have no `streams`")?;
        if streams.len() > 256 {
            return Err("the results have more streams than there can be".into());
        }
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let output = value.get("server_output_json").filter(|document| document.is_object());
        let output = output.or_else(|| value.get("server_output_text").filter(|text| text.is_string()));
        Ok(TestResults {
            cpu: [
                real(value, "cpu_util_total")?,
                real(value, "cpu_util_user")?,
                real(value, "cpu_util_system")?,
            ],
            has_retransmits: real(value, "sender_has_retransmits")? as i64,
            congestion: text("congestion_used").unwrap_or_default().chars().take(32).collect(),
            server_output: output.cloned(),
            streams: streams.iter().map(StreamResults::of).collect::<Result<_, _>>()?,
        })
    }

    pub fn stream(&self, id: u32) -> Option<&StreamResults> {
        self.streams.iter().find(|stream| stream.id == u64::from(id))
    }
}

fn real(value: &Value, name: &str) -> Result<f64, String> {
    let number = value.get(name).and_then(Value::as_f64).filter(|number| number.is_finite());
    number.ok_or_else(|| format!("the results have no `{name}`"))
}

/// A field of a stream's: its name, whether every peer writes it, what is written, and how it is read.
type JsonField = (&'static str, bool, fn(&StreamResults) -> JsonTree, fn(&mut StreamResults, f64));

const FIELDS: &[JsonField] = &[
    ("id", true, |s| s.id.into(), |s, n| s.id = n as u64),
    ("bytes", true, |s| s.bytes.into(), |s, n| s.bytes = n as u64),
    ("retransmits", true, |s| s.retransmits.into(), |s, n| s.retransmits = n as i64),
    ("jitter", true, |s| s.jitter_s.into(), |s, n| s.jitter_s = n.clamp(0.0, 1e9)),
    ("errors", true, |s| s.lost.into(), |s, n| s.lost = n as i64),
    ("omitted_errors", false, |s| s.omitted_lost.into(), |s, n| s.omitted_lost = n as i64),
    ("packets", true, |s| s.packets.into(), |s, n| s.packets = n as i64),
    ("omitted_packets", false, |s| s.omitted_packets.into(), |s, n| s.omitted_packets = n as i64),
    ("start_time", false, |_| 0.into(), |_, _| ()),
    ("end_time", false, |s| s.seconds.into(), |s, n| s.seconds = n.clamp(0.0, 1e9)),
];

impl StreamResults {
    fn json(&self) -> JsonTree {
        let mut all = JsonTree::object([]);
        all.extend(FIELDS.iter().map(|(name, _, write, _)| (*name, write(self))));
        all.extend((self.overflow > 0).then_some((OVERFLOW, self.overflow)));
        all
    }

    fn of(value: &Value) -> Result<StreamResults, String> {
        // What a peer counts is added up later: nothing that it says may be too much for that.
        let bounded = |number: f64| number.clamp(-MOST, MOST);
        let mut stream = StreamResults::default();
        for (name, is_needed, _, read) in FIELDS {
            match real(value, name) {
                Ok(number) => read(&mut stream, bounded(number)),
                Err(why) if *is_needed => return Err(why),
                Err(_) => {}
            }
        }
        stream.overflow = real(value, OVERFLOW).map_or(0, |number| bounded(number) as u64);
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::CJSON;
    use super::*;

    /// As 3.21 sent it.
    const SAID: &str = r#"{"cpu_util_total":31.54,"cpu_util_user":30.7,"cpu_util_system":0.84,
        "sender_has_retransmits":1,"congestion_used":"bbr","streams":[{"id":1,"bytes":262144,"retransmits":0,
        "jitter":0,"errors":0,"omitted_errors":0,"packets":0,"omitted_packets":0,"start_time":0,"end_time":1.001656}]}"#;

    #[test]
    fn there_and_back() {
        let results = TestResults::of(&serde_json::from_str(SAID).unwrap()).unwrap();
        assert_eq!((results.streams[0].bytes, results.congestion.as_str()), (262_144, "bbr"));
        assert_eq!(
            TestResults::of(&serde_json::from_str(&results.json().line(&CJSON)).unwrap()),
            Ok(results)
        );
    }

    #[test]
    fn a_full_buffer_is_told_only_where_it_was() {
        let mut results = TestResults::of(&serde_json::from_str(SAID).unwrap()).unwrap();
        assert!(!results.json().line(&CJSON).contains(OVERFLOW));
        results.streams[0].overflow = 7;
        assert_eq!(
            TestResults::of(&serde_json::from_str(&results.json().line(&CJSON)).unwrap()),
            Ok(results)
        );
    }

    #[test]
    fn old_peers_tell_nothing_of_what_they_omitted() {
        let old = SAID.replace("\"omitted_errors\":0,", "").replace("\"omitted_packets\":0,", "");
        assert!(TestResults::of(&serde_json::from_str(&old).unwrap()).is_ok());
    }

    #[test]
    fn no_number_is_too_much() {
        let huge = SAID
            .replace("262144", "1e300")
            .replace("\"retransmits\":0", "\"retransmits\":9223372036854775807");
        let stream = TestResults::of(&serde_json::from_str(&huge).unwrap()).unwrap().streams[0];
        assert_eq!((stream.bytes, stream.retransmits), (1 << 53, 1 << 53));
    }

    #[test]
    fn what_is_missing_is_said() {
        for name in [
            "cpu_util_total",
            "sender_has_retransmits",
            "streams",
            "bytes",
            "retransmits",
            "jitter",
            "errors",
            "packets",
        ] {
            let broken = SAID.replace(&format!("\"{name}\""), "\"x\"");
            let error = TestResults::of(&serde_json::from_str(&broken).unwrap()).unwrap_err();
            assert!(error.contains(name), "{error}");
        }
        let many = format!(
            "{{\"cpu_util_total\":0,\"cpu_util_user\":0,\"cpu_util_system\":0,\"sender_has_retransmits\":0,\"streams\":[{}0]}}",
            "0,".repeat(300)
        );
        assert!(TestResults::of(&serde_json::from_str(&many).unwrap()).is_err());
    }
}
