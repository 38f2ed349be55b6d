# The same language in another hand: capitals, tabs, values on the next line, commas at the end, names that are keywords.
SET $dir = "/tmp"   # where
Set $n  =  1K		# how many
set $runtime=1
set $half=$n/2
Define FileSet Name = "size" , Path = "${dir}" , Entries = $(half) , DirWidth =
	20 , Size = 4K , PreAlloc = TRUE ,	# all of them
	reuse=False,
define file name=run$n,path=$dir,size=1M
define  process   name = "run",
   Instances = 1
{
  Thread name="thread" , memsize=1M ,
  {
    FlowOp OpenFile name="flowop",filesetname="size",fd=1,
    flowop ReadWholeFile name = read , fd = 1 , iosize = 1M
    flowop print name=told,value="half of $n"
    flowop closefile name=set,fd=1
    flowop write name=once,filename=run$n,fd=2,
       iosize=randvar(type=tabular,randtable=
        {{ 50, 1k, 2k },
         { 50, 2k, 4k }})
    flowop closefile name=shut,fd=2
    flowop finishoncount name=enough,value=5000
  }
}
run $runtime
