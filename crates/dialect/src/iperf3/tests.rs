//! Conversations without sockets: both roles against captured words, against each other, and against nonsense.
