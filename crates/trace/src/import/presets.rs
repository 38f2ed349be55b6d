//! Public traces that are tables: each is a map of columns.

/// A kind of table.
pub struct Preset {
    pub name: &'static str,
    pub about: &'static str,
    pub map: &'static str,
    /// A line as such files hold it, after their header line where they have one.
    pub example: &'static str,
    /// What a user should know.
    pub pitfalls: &'static str,
}

/// All of them.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "msr",
        about: "MSR Cambridge (SNIA IOTTA 388)",
        map: "ts=0:filetime,dev=1+2,op=3,off=4:bytes,len=5:bytes,lat=6:100ns,columns=7",
        example: "128166372003061629,usr,0,Read,7014609920,24576,41286",
        pitfalls: "sizes of devices are not told; some copies have a header line, which is skipped",
    },
    Preset {
        name: "spc",
        about: "SPC, UMass (Financial, WebSearch)",
        map: "dev=0,off=1:sectors,len=2:bytes,op=3,ts=4:s,header=no,columns=5+",
        example: "0,20941264,8192,W,0.551706",
        pitfalls: "each device's addresses begin at 0; no latencies",
    },
    Preset {
        name: "iodedup",
        about: "FIU IODedup, with MD5 of the content",
        map: "ts=0:ns,process=1,name=2,off=3:sectors,len=4:sectors,op=5,dev=6+7,digest=8,sep=space,header=no,columns=9",
        example: "89967404892678 4892 syslogd 904265560 8 W 6 0 531e779e27c5a4e0b4c4f4b6d8a8b3c0",
        pitfalls: "a digest is of 4 KiB (of 512 bytes in the home traces); process names with blanks are wrong lines",
    },
    Preset {
        name: "alibaba",
        about: "Alibaba block traces 2020",
        map: "dev=0,op=1,off=2:bytes,len=3:bytes,ts=4:us,clock=unix,header=no,columns=5",
        example: "419,W,8792731648,16384,1577808144360767",
        pitfalls: "--device-sizes device_size.csv tells how large the devices are; no latencies",
    },
    Preset {
        name: "tencent",
        about: "Tencent CBS 2018",
        map: "ts=0:s+spread,off=1:sectors,len=2:sectors,op=3:0read,dev=4,clock=unix,header=no,columns=5",
        example: "1538323199,1762279976,8,1,1283",
        pitfalls: "stamps are whole seconds: records are spread evenly over their second, bursts within it are lost",
    },
    Preset {
        name: "systor",
        about: "Systor '17 (SNIA IOTTA), LUN tables",
        map: "ts=0:s,lat=1:s,op=2,dev=3,off=4:bytes,len=5:bytes,clock=unix,columns=6",
        example: "1455592301.112334000,0.000292000,R,1,1342191104,4096",
        pitfalls: "a latency may be empty, and is unknown then",
    },
    Preset {
        name: "cachelib",
        about: "Meta CacheLib block traces",
        map: "ts=op_time:s+spread,file=block_id+rs_shard_id,op=op_name,off=io_offset:bytes,len=io_size:bytes,sep=auto,\
              clock=unix,header=yes",
        example: "op_time,block_id,block_id_size,io_size,io_offset,user_name,user_namespace,op_name,op_count,host_name,\
                  rs_shard_id\n\
                  1677628800,2119341234,40,131072,917504,7,1,getChunkData.Permanent,1,4,3",
        pitfalls: "each block with its shard is a file; stamps are whole seconds and are spread; a line is one operation, \
                   whatever op_count says",
    },
    Preset {
        name: "disksim",
        about: "DiskSim ASCII",
        map: "ts=0:ms,dev=1,off=2:sectors,len=3:sectors,op=4:1read,sep=space,header=no,columns=5",
        example: "0.123000 0 11232 8 1",
        pitfalls: "of the flags only the lowest bit is used: 1 is a read",
    },
];
