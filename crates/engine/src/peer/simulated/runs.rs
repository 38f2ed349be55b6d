//! The runs of simulated conversations: how they begin, tell how they stand, and end.
//!
//! A run has one phase and its jobs one socket each, as those of conversations have. It tells what a conductor would.

use iodyno_model::conversation::RunNumber;
use iodyno_model::{Diagnostic, Event, Origin, Plan, RunStart, Stop, TargetKind};

use super::flow::Flow;
use super::sockets::{Role, SocketId};
use super::{BEGAN_UNIX_NS, Happens as Other, Network, News, RunMessage, record};

/// What happens to runs.
pub enum Happens {
    /// It is a job's turn.
    Turn(usize, usize),
    /// An operation has left: its bytes, and when it began, ns.
    Sent(usize, usize, u64, u64),
    /// An answer has not come: the request's number.
    Silent(usize, usize, u64),
    /// A job's time is up.
    TimeUp(usize, usize),
    /// It is time to tell how it stands, for the n-th time.
    Interim(usize, u64),
}

pub struct SimulatedRun {
    pub party: usize,
    /// What it is called there.
    pub number: RunNumber,
    pub plan: Plan,
    /// Its jobs.
    pub flows: Vec<Flow>,
    /// When it passed its start line, ns.
    pub began_ns: u64,
    /// The signal that ended it.
    pub stopped_by: Option<i32>,
    /// It has ended.
    pub over: bool,
    interim_ns: u64,
}

impl Network {
    /// Starts a plan.
    ///
    /// # Errors
    /// A connection that is not there to be used, or what is not simulated.
    pub fn begin_run(
        &mut self,
        party: usize,
        number: RunNumber,
        plan: Plan,
        interim_ns: u64,
    ) -> Result<(), Diagnostic> {
        let flows = self.flows(party, &plan)?;
        let run = self.runs.len();
        let lent: Vec<SocketId> = flows.iter().map(|flow| flow.socket).collect();
        for id in lent {
            self.sockets.get_mut(id).into_iter().for_each(|socket| socket.lent = Some(run));
        }
        for (job, flow) in flows.iter().enumerate() {
            self.later(flow.first_ns, Other::Run(Happens::Turn(run, job)));
            if flow.deadline_ns < u64::MAX {
                self.later(flow.deadline_ns, Other::Run(Happens::TimeUp(run, job)));
            }
        }
        if interim_ns > 0 {
            self.later(self.now_ns + interim_ns, Other::Run(Happens::Interim(run, 1)));
        }
        let began_ns = self.now_ns;
        self.runs.push(SimulatedRun {
            party,
            number,
            plan,
            flows,
            began_ns,
            stopped_by: None,
            over: false,
            interim_ns,
        });
        self.tell_beginning(run);
        Ok(())
    }

    fn flows(&self, party: usize, plan: &Plan) -> Result<Vec<Flow>, Diagnostic> {
        let wrong = |text: String| Diagnostic::error(&Origin::Default, text);
        let [phase] = plan.phases.as_slice() else {
            return Err(wrong("only plans of one phase are simulated".into()));
        };
        let mut flows = Vec::new();
        for job in &phase.jobs {
            let target = job.targets.first().and_then(|index| plan.targets.get(*index));
            let Some((target, TargetKind::Endpoint { address, .. })) =
                target.map(|target| (target, &target.kind))
            else {
                return Err(wrong(format!("{}: only connections are simulated", job.name)));
            };
            let id = address.parse().ok().and_then(|number| self.sockets.find(party, number));
            let socket = id.and_then(|id| Some((id, self.sockets.get(id)?)));
            let Some((id, socket)) = socket.filter(|(_, socket)| socket.lent.is_none()) else {
                return Err(wrong(format!("connection {address} is not there to be used")));
            };
            let datagrams = matches!(socket.role, Role::Datagrams | Role::Mailbox);
            flows.push(Flow::new(job, id, &target.name, datagrams, self.now_ns).map_err(wrong)?);
        }
        Ok(flows)
    }

    fn tell_beginning(&mut self, run: usize) {
        let began = &self.runs[run];
        let phase = &began.plan.phases[0];
        let started = RunStart {
            plan: began.plan.clone(),
            machine: record::machine(&self.hosts[began.party]),
            at_unix_ns: BEGAN_UNIX_NS + self.now_ns,
            ..RunStart::default()
        };
        let line = Event::PhaseStarted {
            index: 0,
            count: 1,
            name: phase.name.clone(),
            repetition: phase.repetition,
            coordinates: phase.coordinates.clone(),
        };
        self.tell_event(run, Event::Started(Box::new(started)));
        self.tell_event(run, line);
    }

    fn tell_event(&mut self, run: usize, event: Event) {
        let SimulatedRun { party, number, .. } = self.runs[run];
        self.news.push((party, News::RunMessage(RunMessage::Told(number, Box::new(event)))));
    }

    /// Something happens to a run.
    pub fn run_happens(&mut self, happens: Happens) {
        match happens {
            Happens::Turn(run, job) => {
                self.runs[run].flows[job].waits = false;
                let socket = self.runs[run].flows[job].socket;
                // What has come before the start line waits there.
                self.feed(run, socket);
                self.go_on(run, job);
            }
            Happens::Sent(run, job, bytes, began_ns) => self.sent(run, job, bytes, began_ns),
            Happens::Silent(run, job, number) => self.unanswered(run, job, number),
            Happens::TimeUp(run, job) => {
                if !self.runs[run].flows[job].busy {
                    self.end_job(run, job);
                }
            }
            Happens::Interim(run, count) => self.interim(run, count),
        }
    }

    fn interim(&mut self, run: usize, count: u64) {
        if self.runs[run].over {
            return;
        }
        let phase = self.phase(run, false);
        self.tell_event(run, Event::Interim(Box::new(phase)));
        let SimulatedRun { began_ns, interim_ns, .. } = self.runs[run];
        self.later(began_ns + (count + 1) * interim_ns, Other::Run(Happens::Interim(run, count + 1)));
    }

    fn run_of(&self, party: usize, number: RunNumber) -> Option<usize> {
        self.runs.iter().position(|run| !run.over && run.party == party && run.number == number)
    }

    fn runs_of(&self, party: usize) -> Vec<usize> {
        let its = |run: &usize| !self.runs[*run].over && self.runs[*run].party == party;
        (0..self.runs.len()).filter(its).collect()
    }

    /// A party wants a run to end.
    pub fn stop_run(&mut self, party: usize, number: RunNumber) {
        if let Some(run) = self.run_of(party, number) {
            self.stop_jobs(run);
        }
    }

    /// A signal ends a party's runs.
    pub fn interrupt_runs(&mut self, party: usize, signal: i32) {
        for run in self.runs_of(party) {
            self.runs[run].stopped_by = Some(signal);
            self.stop_jobs(run);
        }
    }

    /// A party has ended: its runs end with what they have.
    pub fn end_runs(&mut self, party: usize) {
        self.runs_of(party).into_iter().for_each(|run| self.end_run(run));
    }

    /// A party is no more: nobody hears of its runs.
    pub fn forget_runs(&mut self, party: usize) {
        self.runs_of(party).into_iter().for_each(|run| self.runs[run].over = true);
    }

    /// All jobs begin nothing more. What is on its way out is waited for.
    fn stop_jobs(&mut self, run: usize) {
        for job in 0..self.runs[run].flows.len() {
            let flow = &mut self.runs[run].flows[job];
            flow.deadline_ns = flow.deadline_ns.min(self.now_ns);
            if !flow.busy {
                self.end_job(run, job);
            }
        }
    }

    /// A job has done its part.
    pub fn end_job(&mut self, run: usize, job: usize) {
        let SimulatedRun { flows, plan, over, .. } = &mut self.runs[run];
        if *over || std::mem::replace(&mut flows[job].over, true) {
            return;
        }
        flows[job].stop_waiting(self.now_ns);
        let failed = flows[job].error.is_some();
        let ends_others = match plan.phases[0].stop {
            Stop::Alone => false,
            Stop::Each | Stop::FirstError => failed,
            Stop::FirstDone | Stop::FirstJobDone => true,
        };
        if flows.iter().all(|flow| flow.over) {
            self.end_run(run);
        } else if ends_others {
            self.stop_jobs(run);
        }
    }

    fn end_run(&mut self, run: usize) {
        let phase = self.phase(run, true);
        self.tell_event(run, Event::PhaseEnded(Box::new(phase.clone())));
        self.runs[run].over = true;
        let record = record::record(&self.runs[run], phase, &self.hosts[self.runs[run].party]);
        let SimulatedRun { party, number, .. } = self.runs[run];
        self.news.push((party, News::RunMessage(RunMessage::Ended(number, Box::new(record)))));
        let mut lent: Vec<SocketId> = self.runs[run].flows.iter().map(|flow| flow.socket).collect();
        lent.dedup();
        lent.into_iter().for_each(|id| self.give_back(id));
    }
}
