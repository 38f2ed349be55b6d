//! Who runs: ranks beside each other, and on each of them a group of workers, as threads or forked processes.
//!
//! A rank is one process of ours. Without a launcher there is one, and nothing here costs anything; under one the ranks
//! are joined by the MPI of the site. Only the conductor's thread calls in here, and whatever waits does so with little
//! CPU time, since on a crowded machine it would take it from the workers of other ranks.

use iodyno_model::{Job, Phase, Plan, WorldFacts};

use crate::clock::Tick;
use crate::failure::Failure;
use place::Owners;
use rank_share::RankShare;

pub(crate) mod mpi;
pub mod place;
pub mod processes;
pub mod rank_share;
pub mod threads;
pub mod worker_group;

/// The ranks of a run, as one of them sees them.
pub struct World {
    facts: WorldFacts,
    rank: u32,
    link: RankTransport,
    /// Whether the ranks no longer come together.
    is_broken: bool,
    /// What is to be done when everything was reported.
    errands: Vec<Errand>,
}

/// Something to do at the end; what did not go well, in words.
type Errand = Box<dyn FnOnce() -> Vec<String>>;

/// What joins the ranks.
enum RankTransport {
    /// Nothing: there is one.
    Alone,
    /// The site's MPI.
    Mpi(Box<mpi::Mpi>),
}

/// How the values of all ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    Sum,
    /// The smallest.
    Least,
    /// The largest.
    Most,
}

/// What a message between ranks is about; messages of one topic arrive in the order in which a rank sent them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Topic {
    /// How a rank's phase stands: towards the first rank.
    Progress = 1,
    /// What happened on a rank that the first one is to tell.
    Event = 2,
    /// That everybody is to stop.
    Stop = 3,
}

/// Why ranks do not come together: the run was interrupted, or one of them is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenWorld(pub String);

/// Asked again and again while something is waited for; `false`: it is given up.
pub type Patience<'a> = &'a mut dyn FnMut() -> bool;

/// A reduction under way; begun by all ranks in the same order.
pub struct Reduction(Reducing);

enum Reducing {
    /// What is left to hand out.
    Done(Vec<u64>),
    Mpi(mpi::Reducing),
}

impl World {
    /// One rank.
    pub fn alone() -> Self {
        World {
            facts: WorldFacts::alone(&crate::witness::machine().host),
            rank: 0,
            link: RankTransport::Alone,
            is_broken: false,
            errands: Vec::new(),
        }
    }

    /// The world that the launcher's variables speak of; one rank where there are none.
    ///
    /// # Errors
    /// No library that fits the launcher, or another number of ranks than it said.
    pub fn find() -> Result<Self, Failure> {
        Ok(match mpi::find()? {
            Some((mpi, facts, rank)) => World {
                facts,
                rank,
                link: RankTransport::Mpi(Box::new(mpi)),
                is_broken: false,
                errands: Vec::new(),
            },
            None => World::alone(),
        })
    }

    /// The number of this rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many ranks there are, at least 1.
    pub fn size(&self) -> u32 {
        self.facts.ranks()
    }

    /// Whether this is the rank that reports to the user.
    pub fn is_first(&self) -> bool {
        self.rank == 0
    }

    /// Whether there is no other rank.
    pub fn is_alone(&self) -> bool {
        self.size() == 1
    }

    /// Notes that ranks are gone, and that the others will not come together any more.
    pub fn lose(&mut self, ranks: &[u32]) {
        self.facts.lost.extend(ranks);
        self.is_broken = true;
    }

    /// Whether the ranks no longer come together: then there is nothing left but to [abort](World::abort).
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Leaves something to the end, after everything was reported: who lost a rank is soon killed by the launcher.
    pub fn at_last(&mut self, errand: impl FnOnce() -> Vec<String> + 'static) {
        self.errands.push(Box::new(errand));
    }

    /// Does what was left to the end; what did not go well, in words.
    pub fn do_errands(&mut self) -> Vec<String> {
        self.errands.drain(..).flat_map(|errand| errand()).collect()
    }

    /// Ranks on this rank's machine that have ended; of others it is not known.
    pub fn gone(&self) -> Vec<u32> {
        match &self.link {
            RankTransport::Alone => Vec::new(),
            RankTransport::Mpi(mpi) => mpi.gone(),
        }
    }

    /// What is known of the ranks; the same everywhere.
    pub fn facts(&self) -> &WorldFacts {
        &self.facts
    }

    /// This rank's place among those of its node, from 0.
    pub fn place_on_node(&self) -> u32 {
        let node = self.facts.node(self.rank);
        (0..self.rank).filter(|rank| self.facts.node(*rank) == node).count() as u32
    }

    /// This rank's workers of a job.
    pub fn part(&self, job: &Job) -> RankShare {
        rank_share::part(job.ranks, job.workers, self.rank, self.size())
    }

    /// Whose data each worker of a job works on.
    pub fn owners(&self, plan: &Plan, phase: &Phase, job: &Job) -> Owners {
        Owners::new(&self.facts, plan, phase, job, self.part(job).all)
    }

    /// Waits until every rank is here.
    ///
    /// # Errors
    /// A rank is gone, or patience has ended. Then ranks cannot come together any more, here or elsewhere, and every
    /// later call says so at once; messages may still arrive.
    pub fn barrier(&self, patience: Patience<'_>) -> Result<(), BrokenWorld> {
        match &self.link {
            RankTransport::Alone => Ok(()),
            RankTransport::Mpi(mpi) => mpi.barrier(patience),
        }
    }

    /// What the first rank has; what others hand in is ignored.
    ///
    /// # Errors
    /// As of [`World::barrier`].
    pub fn broadcast(&self, bytes: Vec<u8>, patience: Patience<'_>) -> Result<Vec<u8>, BrokenWorld> {
        match &self.link {
            RankTransport::Alone => Ok(bytes),
            RankTransport::Mpi(mpi) => mpi.broadcast(bytes, patience),
        }
    }

    /// On the first rank what each rank has, in their order; elsewhere nothing.
    ///
    /// # Errors
    /// As of [`World::barrier`].
    pub fn gather(&self, bytes: Vec<u8>, patience: Patience<'_>) -> Result<Vec<Vec<u8>>, BrokenWorld> {
        match &self.link {
            RankTransport::Alone => Ok(vec![bytes]),
            RankTransport::Mpi(mpi) => mpi.gather(bytes, patience),
        }
    }

    /// The values of all ranks made one, on every rank.
    ///
    /// # Errors
    /// As of [`World::barrier`].
    pub fn reduce(
        &self,
        how: Reduce,
        values: Vec<u64>,
        patience: Patience<'_>,
    ) -> Result<Vec<u64>, BrokenWorld> {
        let mut reduction = self.begin(how, values)?;
        let pause = mpi::Pause::begin();
        let mut was_gone = false;
        loop {
            if let Some(values) = self.poll(&mut reduction)? {
                return Ok(values);
            }
            // Who is gone may have handed in its own before.
            if !patience() || (!self.gone().is_empty() && std::mem::replace(&mut was_gone, true)) {
                return Err(self.give_up());
            }
            pause.once();
        }
    }

    fn give_up(&self) -> BrokenWorld {
        let broken = BrokenWorld("given up while waiting for other ranks".into());
        match &self.link {
            RankTransport::Alone => broken,
            RankTransport::Mpi(mpi) => mpi.break_off(broken),
        }
    }

    /// Begins to make the values of all ranks one, while something else goes on.
    ///
    /// # Errors
    /// As of [`World::barrier`].
    pub fn begin(&self, how: Reduce, values: Vec<u64>) -> Result<Reduction, BrokenWorld> {
        Ok(Reduction(match &self.link {
            RankTransport::Alone => Reducing::Done(values),
            RankTransport::Mpi(mpi) => Reducing::Mpi(mpi.begin(how, values)?),
        }))
    }

    /// What became of a reduction; nothing yet: other ranks are not there. Once it was handed out it is empty.
    ///
    /// # Errors
    /// A rank is gone.
    pub fn poll(&self, reduction: &mut Reduction) -> Result<Option<Vec<u64>>, BrokenWorld> {
        match (&self.link, &mut reduction.0) {
            (_, Reducing::Done(values)) => Ok(Some(std::mem::take(values))),
            (RankTransport::Mpi(mpi), Reducing::Mpi(flight)) => mpi.poll(flight),
            (RankTransport::Alone, Reducing::Mpi(_)) => Ok(None),
        }
    }

    /// Sends a message without waiting for its arrival. To a rank that is gone it is lost.
    pub fn send(&self, to: u32, topic: Topic, bytes: Vec<u8>) {
        match &self.link {
            RankTransport::Alone => {}
            RankTransport::Mpi(mpi) => mpi.send(to, topic, bytes),
        }
    }

    /// The next message about a topic, and who sent it; never waits.
    pub fn receive(&self, topic: Topic) -> Option<(u32, Vec<u8>)> {
        match &self.link {
            RankTransport::Alone => None,
            RankTransport::Mpi(mpi) => mpi.receive(topic),
        }
    }

    /// A time of the first rank's clock by this rank's, as far as [`World::compare_clocks`] has found out.
    pub fn mine(&self, of_first: Tick) -> Tick {
        match &self.link {
            RankTransport::Alone => of_first,
            RankTransport::Mpi(mpi) => mpi.mine(of_first),
        }
    }

    /// Measures anew how far the clocks of the ranks are apart, and by how much that may be wrong; all ranks together,
    /// after [`crate::clock::calibrate`].
    ///
    /// # Errors
    /// As of [`World::barrier`].
    pub fn compare_clocks(&mut self, patience: Patience<'_>) -> Result<(), BrokenWorld> {
        if let RankTransport::Mpi(mpi) = &self.link {
            self.facts.clock_error_ns = mpi.compare_clocks(patience)?;
        }
        Ok(())
    }

    /// Ends all ranks at once; whoever asks for it has said why.
    pub fn abort(&self, status: i32) -> ! {
        match &self.link {
            RankTransport::Alone => std::process::exit(status),
            RankTransport::Mpi(mpi) => mpi.abort(status),
        }
    }

    /// Leaves the world, when every rank does. A broken world is left at once, and its launcher will notice.
    pub fn leave(self) {
        match self.link {
            RankTransport::Alone => mpi::leave_alone(),
            RankTransport::Mpi(mpi) => mpi.leave(),
        }
    }
}
