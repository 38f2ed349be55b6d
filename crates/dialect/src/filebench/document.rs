//! The page about filebench: what is read, what is different, and the table of flowops.
//!
//! Generated, so that it cannot fall behind the table. Refuses to repeat what `-h` says.

use super::flowops::FLOWOPS;

const HEAD: &str = "\
# filebench

`iodyno filebench -f FILE.f` runs scripts of the workload model language, of filebench 1.4 and 1.5, on any Linux as it
is: one process tree, one engine room, no shared memory at fixed addresses. `-D NAME=VALUE` sets a variable whatever the
script says, `--seed N` decides every tree, name, size and place, `-h -f FILE.f` shows a script's usage and variables.

Where there is no such file, a personality of ours of that name is run (`iodyno filebench -h` lists them):
`iodyno filebench -f varmail.f -D dir=/mnt/test -D runtime=60`.

What any run may be asked for is asked by `--also` here too: `--also repeat=5`, `--also confidence=95:5`, `--also
until-steady`, `--also 'fail-if=read.p99 > 5ms'`. A script's own `warmup SECONDS` is run and not counted.

## What is different

- A mistake in a script is a message with its line and a hint; reading goes on, so twenty mistakes are twenty messages.
  The exit status is 1. Nothing runs before all of it is right.
- Definitions are looked at when they run: a variable may be set after the definition that names it. Variables can be
  reckoned with (`$nfiles * 2 - 1`), `${NAME}` is the environment where no variable has the name, `include FILE` reads
  another script, `foreach $n in 1, 2, 4 { ... }` repeats commands. A script without `run` runs 60 s.
- Scripts of 1.4 that are written for its prompt run as they are: what is slept between `create processes` and `shutdown
  processes` is a run, `stats clear` begins its counts (what ran before is warm-up), each `stats snap` is a report, `stats
  dump FILE` and `stats xmldump FILE` write the last one into a file (below `stats directory DIR`), and `stats command
  COMMAND` runs beside it and ends with it. A personality of ours that is loaded (`load varmail`) is run by what loads it.
- Keywords, names of attributes and switches may be written in capitals, `$n` and `${n}` inside a bare word too (`set$n`), a
  value on the next line, a comma at the end; a line may go on behind a backslash.
- A wakeup that comes just before its block is not lost: each thread is woken once by all that were sent since it was last.
- `target=` is any flowop of the script, also one inside a composite (`target=read1`, or `target=outer.read1`). Ends count
  what all flowops of that name do, in whichever thread, and limits what their own thread does; a limit whose thread has no
  such flowop takes an event for each operation of the others, once, however many look at them (and slows only its own
  thread: that is no defect of ours). Bytes of a flowop that moves none, as a composite, are a mistake.
- Each instance of a `semblock` has a semaphore of its own, and a post goes to all of them, as in the original.
- A semaphore takes one post even while somebody waits for more than its `highwater`; without `blocking` a post never waits.
- A file that nobody makes and `prealloc` does not either is there, and empty.
- `createmode=640` (octal digits, less the umask) is the mode of a file's or a set's files, 644 where nothing is said; a
  `createfile` may say one of its own.
- `print` tells its value when it comes by (within a fifth of a second, each flowop at most once a second and ten lines of
  all, with how often it came by since), and how often in all at the end.
- `quit` before any run ends a script that only says something. A `;` at a line's end means nothing.
- `system` is run where it stands: before the files are laid out, behind `create files` once they are, or after a run. What
  it prints goes to standard error; that it failed is told, and ends nothing.
- A second `run` goes on with the files as the first has left them.
- An opening that nobody wrote is a step of its own (`NAME.open`) and no operation of the flowop that needed it. Where the
  thread never closes that slot, it is opened once. With `opennext` a thread goes through up to 128 slots, a file in each.
- Files are picked uniformly by the seed, among those that nobody removes at that moment; with `skew=0.9` the k-th most
  popular one with a probability that falls as k to the power of -0.9, and with `indexed` by a number. A thread that finds
  none waits (it is counted, and told below the summary), or ends where `set mode quit` says so. What was measured is
  reported, however a run ends.
- A file's length is drawn by the seed and its number: whole files are written as long as they are meant to be, a copy as
  long as its source, and both are read to their real end. Appends go to the real end, whoever else appends.
- Directories draw their depth and width, by `dirwidth`, `dirdepthrv` and `dirgamma`, from the seed; `dirgamma=0` makes all
  alike. A set costs two bytes of memory a file, and sixteen a directory. `paralloc` lays it out by 32 threads.
- Processes are threads of one process. `memsize` is the memory that each thread's data moves about in, of huge pages from
  2 MiB on, where the kernel has some to give (`transparent_hugepage`); with `useism` it is a shared mapping.
  `thread ...,engine=NAME` sends its reads and writes another way (psync, sync, vsync, pvsync, pvsync2, mmap, posixaio,
  libaio, io_uring); threads with `aiowrite` use posixaio.
- A tree that exists already is not removed: it is used as it is with `reuse` or `trusttree`, and refused without. What was
  made is removed at the end, and on Ctrl-C, unless `reuse` says that it stays.
- `cached=false` drops the pages of a file, or of all files of a set, before the run; what stays in the cache is told.

## Several clients

`mpirun -n 3 iodyno filebench -f x.f`, or `iodyno filebench -f x.f --also hosts=h1,h2,h3`: every rank of the
[world](world.md) is a client that runs all processes of the script. There is one report of all: counts are summed, minimum
and maximum are those of all. `--also ranks` adds a row for each client.

- `$clientid` is a client's number, from 0, `$nclients` how many there are, `$clienthost` the host it is on, where the script
  or `-D` sets none of these names. By them clients may differ in all they do. `echo` and `system` that all clients have
  alike are done once (`system`: once on each machine), others by each client.
- **Files.** What several clients would put at the same path is each client's own, in `PATH/client0`, `PATH/client1`, …; a
  path that the script itself makes different (`path=\"/mnt/of$clientid\"`) stays as it is. All clients lay theirs out at
  once. A set that is `readonly`, whole from the start (`prealloc`) and changed by no flowop is everybody's: it is made once
  (on each machine that does not see the other's), and all clients read it. The report says which is which.
- **Start and end.** Every run begins on all clients together, when all files are laid out, and the next begins when it is over
  everywhere. With `set mode quit firstdone` the first thread that is done on any client ends the run on all, within
  about a tenth of a second. Ctrl-C ends all, and each client removes what it made.
- **A client's own** are the events of `eventgen` (its rate is that of each client: three clients do three times as much),
  semaphores, `block` and `wakeup`, the counts of `finishoncount` and `finishonbytes`, and which files exist.
- What `psrun` reports while it runs has the other clients' figures as they told them last, up to a second before, so its rates
  are a little low; the last report is exact.
- `enable multi master=HOST,client=NAME` says who the clients are: names that differ (`client=$clientid`) are the report's; a
  master that is not the first client's host is told. Nobody connects to anybody by it, and started alone the script runs
  as the only client, which the report and a note say.
- `domultisync value=N` is a point at which all clients wait for each other: what stands before it is done everywhere
  before anything behind it begins. Clients that name other points than the first are refused.

## Flowops

";

/// The page.
pub fn document() -> String {
    let mut text = HEAD.to_string();
    text += "| flowop | what it does |\n|---|---|\n";
    for entry in FLOWOPS {
        text += &format!("| `{}` | {} |\n", entry.name, entry.about);
    }
    text
}
