# makedirs: creates directories until all of them exist.
set $dir=/tmp
set $ndirs=10000
set $nthreads=1
set $meandirwidth=100
set $runtime=60

set mode quit firstdone
define fileset name=tree,path=$dir,leafdirs=$ndirs,dirwidth=$meandirwidth

define process name=maker,instances=1 {
  thread name=make,instances=$nthreads {
    flowop makedir name=makedir1,filesetname=tree
  }
}

echo "Directory making personality loaded"
run $runtime
