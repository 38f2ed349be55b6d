//! hdparm
