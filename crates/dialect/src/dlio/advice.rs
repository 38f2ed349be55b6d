//! Findings in DLIO's own keys.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names DLIO's own keys.
    translate {
        R::BypassPageCache | R::FindCacheHolder =>
            "make the data set 5 times as large as the memory (dataset.num_files_train), or read past the cache \
             (reader.odirect: True)",
        R::ReadOnAnotherNode => "generate the data set on other nodes than those that train",
        R::IncludeFlush | R::WriteOnce => "make checkpoints durable (checkpoint.fsync: True)",
        R::FillBeforeReading | R::FillVolume => "generate the data set (workflow.generate_data: True)",
        R::SettleFirst | R::RepeatMoreOften | R::RunLonger => "train more epochs (train.epochs), of at least 500 steps each",
        R::OutlastBurst => "train more epochs (train.epochs), so that the fast part no longer matters",
        R::PrepareData | R::CheapenData | R::AddWorkers => "use more readers (reader.read_threads), or more hosts",
        R::MatchProcessors => "use no more readers (reader.read_threads) and accelerators than there are processors",
        R::ReserveProcessors => "stop what else runs on the hosts, or use fewer accelerators",
        R::FlushBefore => "generate in one run and train in the next: workflow.generate_data: False",
        R::CompareWorkers => "see what the late rank's host has that the others have not (N_output.json has each step)",
        R::EndTogether => "give each accelerator as many samples: num_files_train a multiple of batch_size times accelerators",
        R::AlignBlocks | R::SyncLess => "make reader.transfer_size a multiple of the file system's block (4096)",
        R::DropCaches => "drop the caches between generating and training",
        R::ChooseStorage => "name a folder on the storage you mean (dataset.data_folder)",
        R::ReadTail => "read the longest steps in N_output.json beside the mean; look for who else uses the storage",
        R::SeparateFiles => "use more files of fewer samples (dataset.num_files_train)",
        R::EnlargeTarget => "make the data set larger (dataset.num_files_train)",
        R::FeedFewer => "train with fewer accelerators (ranks), or choose a faster storage: this one was full",
        R::WidenFeed => "give the hosts a faster link to the storage, or train on more hosts",
        R::RelieveReaders =>
            "train on more hosts, with no more readers (reader.read_threads) than processors: what is measured is this machine",
        R::RelieveServers => "look at the servers of this file system and at the network to them: the hosts had time to spare",
        R::ReadFurtherAhead => "read further ahead (reader.read_threads, reader.prefetch_size): nothing here was full",
        R::WriteRandomData => "tell that checkpoints are zeros, as PyTorch's of this benchmark are",
    }
    general { remedies!(everywhere clocks flows percentiles errors) | R::OutgrowDeviceCache }
    unprinted { remedies!(depth schedules requests peaks stores) | R::TimeBatches }
}
