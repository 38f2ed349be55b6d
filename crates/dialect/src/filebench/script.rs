//! A WML script as it was written: commands, definitions, attributes; nothing is looked up yet.
//!
//! Refuses to know what a flowop or an attribute means: that is [`super::flowops`]' and [`super::lower`]'s.

use iodyno_model::Origin;

/// What stands behind `=`.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Number(f64),
    /// A word or quoted text; variables in quoted text are put in when it is used.
    Text(String),
    Variable(String),
    /// Two values and the sign between them.
    Binary(Box<Expression>, char, Box<Expression>),
    /// `randvar(…)`, or `cvar(…)` where the flag is set.
    Random(Vec<Attribute>, bool),
    /// `{{50,1k,4k},{50,4k,1m}}`.
    Table(Vec<Vec<Expression>>),
}

/// `name=value`, or a name alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    pub name: String,
    /// Its value; none: it is switched on.
    pub value: Option<Expression>,
    /// Where it stands.
    pub origin: Origin,
}

/// Attributes in their order; of those that come twice the last one counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub Vec<Attribute>);

impl Attributes {
    /// The attribute of one of these names.
    pub fn get(&self, names: &[&str]) -> Option<&Attribute> {
        self.0.iter().rev().find(|attribute| names.contains(&attribute.name.as_str()))
    }
}

/// `flowop TYPE …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Flowop {
    /// Its type, or the name of a composite.
    pub kind: String,
    /// What it says.
    pub attributes: Attributes,
    /// Local variables that are handed to a composite.
    pub locals: Vec<(String, Expression)>,
    /// Where it stands.
    pub origin: Origin,
}

/// `thread …{ flowop … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// What it says.
    pub attributes: Attributes,
    /// What it does.
    pub flowops: Vec<Flowop>,
    /// Where it stands.
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// `define file` and `define fileset`.
    Fileset {
        /// Whether it is a single file.
        single: bool,
        /// What it says.
        attributes: Attributes,
    },
    /// `define process`.
    Process {
        /// What it says.
        attributes: Attributes,
        threads: Vec<Thread>,
    },
    /// `define flowop`: a composite.
    Composite {
        /// Its name and `iters`.
        attributes: Attributes,
        /// Local variables and their defaults.
        locals: Vec<(String, Expression)>,
        /// What it consists of.
        flowops: Vec<Flowop>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What is to be done.
    pub order: Directive,
    /// Where it stands.
    pub origin: Origin,
}

/// What a command orders.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// `define …`.
    Define(Definition),
    /// `set $name=…`.
    Set(String, Expression),
    /// `set mode quit …`: its word.
    Quit(String),
    /// `eventgen rate=…`.
    Rate(Expression),
    /// `run`, with its seconds.
    Run(Option<Expression>),
    /// `psrun`: period and seconds.
    Periodic(Option<Expression>, Option<Expression>),
    /// `warmup`: seconds that are run and not counted.
    Warmup(Expression),
    /// `sleep`.
    Sleep(Expression),
    /// `echo`.
    Echo(Expression),
    /// `usage`.
    Usage(Expression),
    /// `system`.
    System(Expression),
    /// `include` and `load`.
    Include(Expression),
    /// `foreach $name in a, b { … }`.
    Each(String, Vec<Expression>, Vec<Statement>),
    /// `enable lathist`.
    Latencies,
    /// `enable multi`, with who leads and what this client is called.
    Multi(Attributes),
    /// `domultisync`, with the point's number.
    Meet(Attributes),
    /// `list` of filesets, flowops or variables.
    List(String),
    /// `version`.
    Version,
    /// `quit`: what follows is not done.
    End,
    /// `create files`: what follows is run once they are laid out.
    Laid,
    /// `create processes`: what is slept from here on is run.
    Begin,
    /// `shutdown processes`.
    Shutdown,
    /// `stats …`.
    Stats(Stats),
    /// `set mode noreadahead`.
    NoReadAhead,
    /// What steered the original's own machinery, and why nothing is done about it.
    Nothing(String, &'static str),
}

/// What is asked of the counts, as version 1.4 has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Stats {
    /// `clear`: what was counted so far is forgotten.
    Clear,
    /// `snap`: what was counted so far is reported.
    Snap,
    /// `dump`, `multidump` and `xmldump`: the last report into a file, and whether that is XML.
    Dump(Expression, bool),
    /// `directory`: where those files lie.
    Directory(Expression),
    /// `command`: what runs beside.
    Command(Expression),
}
