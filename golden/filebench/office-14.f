# A file service of 1.4: tables, composites that are handed their set, arithmetic, files by number, so many events a second.
set $dir=/tmp
set $runtime=1
set $nthreads=4
set $nsharers=20
set $totalfiles=$nthreads * $nsharers
define randvar name=$wsize, type=tabular, min=1k, round=1k,
  randtable =
  {{ 50, 1k, 7k},
   { 30, 9k, 15k},
   { 20, 17k, 64k}}
define randvar name=$filesize, type=gamma, mean=16k
define randvar name=$fileidx, type=gamma, min=0
set $fileidx.mean=$totalfiles / 2
define fileset name=office,path=$dir,size=$filesize,entries=$totalfiles,dirwidth=20,prealloc=60
define flowop name=statfile, $set { flowop statfile name=look,filesetname=$set,indexed=$fileidx }
define flowop name=change, $set
{
  flowop openfile name=from,filesetname=$set,indexed=$fileidx,fd=1
  flowop readwholefile name=read,fd=1,iosize=$wsize
  flowop createfile name=to,filesetname=$set,fd=2
  flowop writewholefile name=write,fd=2,srcfd=1,iosize=$wsize
  flowop closefile name=done,fd=2
  flowop deletefile name=gone,fd=1
  flowop closefile name=shut,fd=1
}
eventgen rate=2000
define process name=client { thread name=user,memsize=1m,instances=$nthreads {
  flowop change name=save,iters=2,$set=office
  flowop statfile name=see,iters=5,$set=office
  flowop opslimit name=pace
} }
run $runtime
