//! Options about zones, and about telling a device where data belongs.
//!
//! Refuses the zones of zoned devices and data placement: both need hardware that is not known here.

use super::{ENDLESS, JobOption, ValueType, amount, bytes, decimals, flag, option, text, whole, word, words};

const ZONED: &str = "zoned devices (host-aware or host-managed) are not driven";
const STRIDED: &str = "use zonemode=strided on an ordinary device";
const PLACED: &str = "data placement needs NVMe commands that are not passed through";
const LEAVE: &str = "leave it out";

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    word("zonemode", words::ZONE_MODES, "what zonesize, zonerange and zoneskip mean").or("none"),
    bytes("zonesize", 0, ENDLESS, "how much is done in each zone").or("0").bounded(false),
    bytes("zonecapacity", 0, ENDLESS, "how much of each zone can be used").or("0").refused(ZONED, STRIDED),
    bytes("zonerange", 0, ENDLESS, "how large a zone is").or("0").bounded(false),
    amount("zoneskip", "gap between zones").or("0"),
    flag("read_beyond_wp", "read past what was written").refused(ZONED, STRIDED),
    whole("max_open_zones", 0, 4096, "zones open at the same time").or("0").refused(ZONED, STRIDED),
    whole("job_max_open_zones", 0, 4096, "zones a job has open").or("0").refused(ZONED, STRIDED),
    flag("ignore_zone_limits", "open more than the device says").refused(ZONED, STRIDED),
    decimals("zone_reset_threshold", 0, 1, "reset zones when so much is written").refused(ZONED, STRIDED),
    decimals("zone_reset_frequency", 0, 1, "how often a zone is reset").refused(ZONED, STRIDED),
    option("write_zone_remainder", "0|1", ValueType::Flag, "fill what is left of a zone").refused(ZONED, STRIDED),
    flag("recover_zbd_write_error", "go on after a write to a zone failed").refused(ZONED, STRIDED),
    flag("fdp", "flexible data placement").refused(PLACED, LEAVE),
    word("dataplacement", words::PLACEMENTS, "how data is placed").also(&["data_placement"]).or("none").refused(PLACED, LEAVE),
    word("plid_select", words::PLACEMENT_CHOICES, "which identifier is next").also(&["fdp_pli_select"]).refused(PLACED, LEAVE),
    text("plids", "LIST", "placement identifiers").also(&["fdp_pli"]).refused(PLACED, LEAVE),
    text("dp_scheme", "FILE", "which offsets get which identifier").refused(PLACED, LEAVE),
];
