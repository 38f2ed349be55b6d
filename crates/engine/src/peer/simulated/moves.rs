//! How the jobs of simulated runs move data: one operation after the other, each at the time at which the network is done
//! with it.

use super::flow::FlowRole;
use super::runs::Happens;
use super::sockets::{Datagram, Parcel, Role, SocketId};
use super::{BEGAN_UNIX_NS, Happens as Other, Network};
use crate::engines::socket::stamp::Stamp;
use crate::worker_counters::Count;

/// The largest header of a datagram, bytes.
const HEAD_BYTES: usize = 16;
/// Answers in a row that do not come, after which nobody seems to be there.
const SILENT: u32 = 10;

impl Network {
    /// Jobs over a socket go on, where something has kept them.
    pub fn go_on_over(&mut self, run: usize, id: SocketId) {
        for job in 0..self.runs[run].flows.len() {
            if self.runs[run].flows[job].socket == id {
                self.go_on(run, job);
            }
        }
    }

    /// A job begins what it may begin now.
    pub fn go_on(&mut self, run: usize, job: usize) {
        let flow = &self.runs[run].flows[job];
        if self.runs[run].over || flow.over || flow.busy || flow.waits || self.now_ns < flow.first_ns {
            return;
        }
        if self.now_ns >= flow.deadline_ns {
            return self.end_job(run, job);
        }
        match flow.what {
            FlowRole::Sends => self.send(run, job),
            FlowRole::Asks => self.ask(run, job),
            FlowRole::Receives | FlowRole::Answers => {}
        }
    }

    /// Whether a job must wait for its schedule; then it will be its turn.
    fn waits_for_its_time(&mut self, run: usize, job: usize) -> bool {
        let flow = &mut self.runs[run].flows[job];
        let Some(due_ns) = flow.due_ns().filter(|due_ns| *due_ns > self.now_ns) else { return false };
        flow.waits = true;
        self.later(due_ns, Other::Run(Happens::Turn(run, job)));
        true
    }

    fn send(&mut self, run: usize, job: usize) {
        let flow = &self.runs[run].flows[job];
        let Some(bytes) = flow.next_bytes() else { return self.end_job(run, job) };
        if self.waits_for_its_time(run, job) {
            return;
        }
        let flow = &mut self.runs[run].flows[job];
        flow.end_ramp(self.now_ns);
        let (id, due_ns) = (flow.socket, flow.due_ns());
        let left_ns = match flow.datagram {
            0 => self.send_block(run, job, id, bytes),
            _ => Some(self.send_datagrams(run, job, id, bytes)),
        };
        let Some(left_ns) = left_ns else { return };
        let flow = &mut self.runs[run].flows[job];
        flow.begin(bytes);
        flow.busy = true;
        let began_ns = due_ns.unwrap_or(self.now_ns);
        self.later(left_ns, Other::Run(Happens::Sent(run, job, bytes, began_ns)));
    }

    /// A block of a stream goes out; when it has left. None: the peer has too much unread.
    fn send_block(&mut self, run: usize, job: usize, id: SocketId, bytes: u64) -> Option<u64> {
        let (way, window) = (self.way(id)?, self.wires.link.window_bytes);
        let socket = self.sockets.get_mut(id)?;
        if socket.unread > 0 && socket.unread + bytes > window {
            return None;
        }
        socket.unread += bytes;
        let passage = self.wires.stream(way, bytes, self.now_ns);
        let flow = &mut self.runs[run].flows[job];
        flow.retransmits += passage.again;
        let parcel = Parcel::Payload(bytes, flow.content.clone());
        self.post(id, parcel, passage.arrives_ns);
        Some(passage.left_ns)
    }

    fn send_datagrams(&mut self, run: usize, job: usize, id: SocketId, bytes: u64) -> u64 {
        let (mut left, mut left_ns) = (bytes, self.now_ns);
        let Some(to) = self.sockets.get(id).and_then(|socket| socket.far) else { return left_ns };
        while left > 0 {
            let flow = &self.runs[run].flows[job];
            let each = flow.datagram.min(left);
            let stamp = flow.stamp.map(|stamp| (stamp, flow.next_number(), self.shown(stamp)));
            flow.count_datagram();
            let datagram = Datagram { bytes: each as usize, content: flow.content.clone(), stamp };
            left_ns = self.send_datagram(id, to, datagram);
            left -= each;
        }
        left_ns
    }

    /// What the clock of a header shows, ns.
    fn shown(&self, stamp: Stamp) -> u64 {
        match stamp {
            Stamp::NumberFirst => BEGAN_UNIX_NS + self.now_ns,
            Stamp::Short | Stamp::Long => self.now_ns,
        }
    }

    /// An operation has left.
    pub fn sent(&mut self, run: usize, job: usize, bytes: u64, began_ns: u64) {
        let flow = &mut self.runs[run].flows[job];
        if flow.over {
            return;
        }
        flow.busy = false;
        flow.moved(bytes);
        flow.done(1, bytes, began_ns, self.now_ns);
        self.go_on(run, job);
    }

    fn ask(&mut self, run: usize, job: usize) {
        while self.runs[run].flows[job].asked.len() < self.runs[run].flows[job].job.depth.most.max(1) as usize
        {
            let flow = &self.runs[run].flows[job];
            if flow.next_bytes().is_none() {
                if flow.asked.is_empty() {
                    self.end_job(run, job);
                }
                return;
            }
            if self.waits_for_its_time(run, job) {
                return;
            }
            self.send_request(run, job);
        }
    }

    fn send_request(&mut self, run: usize, job: usize) {
        let now_ns = self.now_ns;
        let flow = &mut self.runs[run].flows[job];
        let (id, bytes, datagrams) = (flow.socket, flow.sizes.0, flow.datagram > 0);
        let since_ns = flow.due_ns().unwrap_or(now_ns);
        let number = flow.begin(flow.block);
        flow.asked.push_back((number, since_ns));
        let (timeout_ns, to) = (flow.timeout_ns, self.sockets.get(id).and_then(|socket| socket.far));
        self.send_message(run, job, id, bytes, to);
        if datagrams {
            self.later(now_ns + timeout_ns, Other::Run(Happens::Silent(run, job, number)));
        }
    }

    /// A request or a response goes out.
    fn send_message(&mut self, run: usize, job: usize, id: SocketId, bytes: u64, to: Option<(usize, u16)>) {
        let flow = &self.runs[run].flows[job];
        let content = flow.content.clone();
        match (flow.datagram > 0, to, self.way(id)) {
            (true, Some(to), _) => {
                self.send_datagram(id, to, Datagram { bytes: bytes as usize, content, stamp: None });
            }
            (false, _, Some(way)) => {
                let passage = self.wires.stream(way, bytes, self.now_ns);
                self.runs[run].flows[job].retransmits += passage.again;
                self.post(id, Parcel::Payload(bytes, content), passage.arrives_ns);
            }
            _ => {}
        }
    }

    /// An answer over datagrams has not come in time.
    pub fn unanswered(&mut self, run: usize, job: usize, number: u64) {
        let flow = &mut self.runs[run].flows[job];
        let Some(place) = flow.asked.iter().position(|(asked, _)| *asked == number).filter(|_| !flow.over)
        else {
            return;
        };
        flow.asked.remove(place);
        flow.counts.add(Count::Lost, 1);
        (flow.silent, flow.ended_ns) = (flow.silent + 1, self.now_ns);
        if flow.silent >= SILENT {
            return self.break_off(run, job, libc::ETIMEDOUT);
        }
        self.go_on(run, job);
    }

    fn break_off(&mut self, run: usize, job: usize, errno: i32) {
        self.runs[run].flows[job].fail(errno);
        self.end_job(run, job);
    }

    /// Something has come over a socket that a run has.
    pub fn feed(&mut self, run: usize, id: SocketId) {
        if self.breaks(run, id) {
            return;
        }
        let now_ns = self.now_ns;
        let takes = |flow: &super::flow::Flow| {
            flow.socket == id && flow.what != FlowRole::Sends && !flow.over && now_ns >= flow.first_ns
        };
        while !self.runs[run].over
            && let Some(job) = self.runs[run].flows.iter().position(takes)
            && let Some(parcel) = self.sockets.get_mut(id).and_then(|socket| socket.inbox.pop_front())
        {
            match self.runs[run].flows[job].what {
                FlowRole::Receives => self.receive(run, job, id, parcel),
                FlowRole::Answers => self.hear_request(run, job, id, parcel),
                _ => self.hear_response(run, job, id, parcel),
            }
        }
    }

    /// Whether the peer of a stream has gone: those who send over it break off.
    fn breaks(&mut self, run: usize, id: SocketId) -> bool {
        let Some(socket) = self.sockets.get(id) else { return true };
        if !socket.inbox.iter().any(|parcel| matches!(parcel, Parcel::Reset)) {
            return false;
        }
        for job in 0..self.runs[run].flows.len() {
            let flow = &self.runs[run].flows[job];
            if flow.socket == id && flow.what == FlowRole::Sends && !flow.over {
                self.break_off(run, job, libc::ECONNRESET);
            }
        }
        self.runs[run].over
    }

    fn receive(&mut self, run: usize, job: usize, id: SocketId, parcel: Parcel) {
        self.runs[run].flows[job].end_ramp(self.now_ns);
        match parcel {
            Parcel::End => self.peer_ended(run, job, id),
            Parcel::Reset => self.break_off(run, job, libc::ECONNRESET),
            Parcel::Datagram(_, datagram) => self.receive_datagram(run, job, &datagram),
            stream => self.receive_part(run, job, id, stream),
        }
    }

    /// The end of a stream: a job's end, and what its conversation is to hear afterwards.
    fn peer_ended(&mut self, run: usize, job: usize, id: SocketId) {
        self.sockets.get_mut(id).into_iter().for_each(|socket| socket.inbox.push_front(Parcel::End));
        self.end_job(run, job);
    }

    fn receive_part(&mut self, run: usize, job: usize, id: SocketId, parcel: Parcel) {
        let (came, now_ns) = (parcel.bytes(), self.now_ns);
        let flow = &mut self.runs[run].flows[job];
        let left = flow.job.limit.bytes.map_or(u64::MAX, |most| most.saturating_sub(flow.begun.1));
        let taken = came.min(left);
        let operations = taken.div_ceil(flow.block);
        (0..operations).for_each(|number| flow.moved(flow.block.min(taken - number * flow.block)));
        flow.begun = (flow.begun.0 + operations, flow.begun.1 + taken);
        let began_ns = flow.ended_ns;
        flow.done(operations, taken, began_ns, now_ns);
        self.tell_read(id, taken);
        if taken < came
            && let Some(socket) = self.sockets.get_mut(id)
        {
            socket.inbox.push_front(Parcel::Payload(came - taken, Vec::new().into()));
        }
        self.end_if_done(run, job);
    }

    fn receive_datagram(&mut self, run: usize, job: usize, datagram: &Datagram) {
        let bytes = datagram.bytes as u64;
        if bytes == 0 {
            // One without content says no more than that there is no other.
            return self.end_job(run, job);
        }
        let arrived_ns = self.runs[run].flows[job].stamp.map_or(0, |stamp| self.shown(stamp));
        let now_ns = self.now_ns;
        let flow = &mut self.runs[run].flows[job];
        let leaves = flow.take(&datagram.head(HEAD_BYTES), arrived_ns);
        flow.moved(bytes);
        flow.begin(bytes);
        let began_ns = flow.ended_ns;
        flow.done(1, bytes, began_ns, now_ns);
        match leaves {
            true => self.end_job(run, job),
            false => self.end_if_done(run, job),
        }
    }

    fn end_if_done(&mut self, run: usize, job: usize) {
        if self.runs[run].flows[job].next_bytes().is_none() {
            self.end_job(run, job);
        }
    }

    fn hear_request(&mut self, run: usize, job: usize, id: SocketId, parcel: Parcel) {
        let far = self.sockets.get(id).and_then(|socket| socket.far);
        let to = match parcel {
            Parcel::End => return self.peer_ended(run, job, id),
            // One who leaves in the midst of a request has had enough.
            Parcel::Reset => return self.end_job(run, job),
            Parcel::Datagram(from, _) => Some(from),
            _ => far,
        };
        self.tell_read(id, parcel.bytes());
        let mailbox = self.sockets.get(id).is_some_and(|socket| socket.role == Role::Mailbox);
        let flow = &mut self.runs[run].flows[job];
        flow.come += if mailbox || flow.datagram > 0 { flow.sizes.0 } else { parcel.bytes() };
        let (request, response) = flow.sizes;
        while request > 0 && self.runs[run].flows[job].come >= request && !self.runs[run].flows[job].over {
            self.runs[run].flows[job].come -= request;
            self.send_message(run, job, id, response, to);
            self.exchanged(run, job, None);
        }
    }

    fn hear_response(&mut self, run: usize, job: usize, id: SocketId, parcel: Parcel) {
        if matches!(parcel, Parcel::End | Parcel::Reset) {
            return self.break_off(run, job, libc::ECONNRESET);
        }
        self.tell_read(id, parcel.bytes());
        let flow = &mut self.runs[run].flows[job];
        if flow.datagram > 0 && flow.asked.is_empty() {
            return flow.counts.add(Count::Late, 1);
        }
        flow.come += if flow.datagram > 0 { flow.sizes.1 } else { parcel.bytes() };
        let response = flow.sizes.1;
        while self.runs[run].flows[job].come >= response
            && let Some((_, since_ns)) = self.runs[run].flows[job].asked.pop_front()
        {
            let flow = &mut self.runs[run].flows[job];
            (flow.come, flow.silent) = (flow.come - response, 0);
            self.exchanged(run, job, Some(since_ns));
        }
        self.go_on(run, job);
    }

    /// An exchange is done; of one that was asked, since when.
    fn exchanged(&mut self, run: usize, job: usize, since_ns: Option<u64>) {
        let now_ns = self.now_ns;
        let flow = &mut self.runs[run].flows[job];
        flow.moved(flow.sizes.0 + flow.sizes.1);
        let began_ns = since_ns.unwrap_or(flow.ended_ns);
        flow.done(1, flow.block, began_ns, now_ns);
        if since_ns.is_none() {
            flow.begin(flow.block);
            self.end_if_done(run, job);
        }
    }
}
