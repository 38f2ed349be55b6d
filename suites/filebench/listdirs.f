# listdirs: lists the directories of a tree.
set $dir=/tmp
set $ndirs=10000
set $nthreads=5
set $meandirwidth=5
set $runtime=60

define fileset name=tree,path=$dir,leafdirs=$ndirs,dirwidth=$meandirwidth,prealloc=100

define process name=lister,instances=1 {
  thread name=list,instances=$nthreads {
    flowop listdir name=listdir1,filesetname=tree
  }
}

echo "Directory listing personality loaded"
run $runtime
