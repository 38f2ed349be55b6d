# Version 1.4: a tree is copied by one thread, until so many files are.
set $dir=/tmp
set $nfiles=200
set $dirwidth=20
set $filesize=16k
set $nthreads=1
set $iosize=1m
set $count=60
set $runtime=1

set mode quit firstdone

define fileset name=bigfileset,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$dirwidth,prealloc=100
define fileset name=destfiles,path=$dir,size=$filesize,entries=$nfiles,dirwidth=$dirwidth

define process name=filereader,instances=1
{
  thread name=filereaderthread,memsize=10m,instances=$nthreads
  {
    flowop openfile name=openfile1,filesetname=bigfileset,opennext,fd=1
    flowop readwholefile name=readfile1,fd=1,iosize=$iosize
    flowop createfile name=createfile2,filesetname=destfiles,fd=2
    flowop writewholefile name=writefile2,fd=2,srcfd=1,iosize=$iosize
    flowop closefile name=closefile1,fd=1
    flowop closefile name=closefile2,fd=2
    flowop finishoncount name=finish,value=$count,target=writefile2
  }
}

echo "Copyfiles Version 3.0 style personality loaded"
usage "Usage: set \$dir=<dir>         defaults to $dir"
usage "       set \$nfiles=<value>    defaults to $nfiles"
usage " "
usage "       run runtime (e.g. run 60)"
run $runtime
