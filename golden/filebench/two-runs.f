# A second run goes on with what the first has left; commands come in their places.
set $dir=/tmp
set $runtime=1
set mode quit firstdone
define fileset name=gone,path=$dir,size=2k,entries=120,dirwidth=20,prealloc
define process name=p {
  thread name=t,memsize=1m {
    flowop deletefile name=remove,filesetname=gone
    flowop finishoncount name=half,value=60,target=remove
  }
}
system "echo errand-one $dir"
create files
system "ls $dir >/dev/null"
run $runtime
run $runtime
system "echo errand-two"
