//! Readings of a port, played by hand.

use iodyno_model::conversation::{Action, Ends, Input};

use super::{PATIENCE_NS, PortAddress, PortReader, Version};

const AGENT: u32 = 77;

fn reader() -> PortReader {
    let address = PortAddress {
        host: "sw1".into(),
        port: 161,
        index: 24,
        community: "public".into(),
        version: Version::TwoC,
    };
    PortReader::new(address, AGENT)
}

fn sent(reader: &mut PortReader) -> usize {
    reader.out.drain(..).filter(|action| matches!(action, Action::Send(AGENT, _))).count()
}

#[test]
fn an_agent_that_does_not_answer_is_asked_three_times() {
    let mut reader = reader();
    reader.begin(0);
    assert!(matches!(&reader.out[0], Action::Connect { address, .. } if address == "sw1:161"));
    assert!(!reader.step(0, &Input::Ready(AGENT, Ends::default())));
    assert!(!reader.step(PATIENCE_NS - 1, &Input::Tick));
    assert!(!reader.step(PATIENCE_NS, &Input::Tick) && !reader.step(2 * PATIENCE_NS, &Input::Tick));
    assert_eq!(sent(&mut reader), 3);
    assert!(reader.step(3 * PATIENCE_NS, &Input::Tick));
    let why = reader.activity().unwrap_err();
    assert_eq!(why, "sw1:161: no answer in 3 s: agents ignore a wrong community");
    assert!(!reader.again(4 * PATIENCE_NS), "who did not answer is not asked again");
}

#[test]
fn nobody_there_and_nonsense_end_the_reading() {
    let mut nobody = reader();
    nobody.begin(0);
    nobody.step(0, &Input::Ready(AGENT, Ends::default()));
    assert!(nobody.step(1, &Input::Failed(AGENT, 111, "Connection refused".into())));
    assert_eq!(nobody.activity().unwrap_err(), "sw1:161: Connection refused");
    let mut nonsense = reader();
    nonsense.step(0, &Input::Ready(AGENT, Ends::default()));
    assert!(nonsense.step(1, &Input::Bytes(AGENT, b"HTTP/1.1 400".to_vec())));
    assert!(nonsense.activity().unwrap_err().contains("its answer is not SNMP's"));
}
