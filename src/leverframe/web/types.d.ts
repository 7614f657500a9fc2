// Types that the modules of the pages share. No browser gets this file: it is read by tsc, which
// checks the JSDoc types of all modules. `Api` holds the replies of the controller's API; it is
// made from the OpenAPI document whenever the pages are checked (`make check`).

// What is passed around.

type Context = import("./lib/live/context.js").Context;
// Of an administrator, who may read the settings: all pages but those for every account.
type AdminContext = Context & { settings: Settings };
type Signal<T> = import("./vendor/signals-core.js").Signal<T>;
type Live = import("./lib/live/live.js").Live;
type Overview = import("./lib/live/context.js").Overview;
type Commands = Pick<import("./lib/live/commands.js").Commands, "all" | "find" | "get">;
type Command = import("./lib/live/commands.js").Command;
type Form = import("./lib/forms/form.js").Form;
type BoundField = import("./lib/forms/bound_field.js").BoundField;
type Row = import("./lib/forms/bound_field.js").Row;

// What is drawn. `Template` is anything that lit-html can draw.

type Template = import("./vendor/lit-html.js").Template;
type ControlEvent = import("./vendor/lit-html.js").ControlEvent;

// A page of pages/index.js, and what its module gives.
interface PageEntry {
  name: string;
  group: string;
  role: string;
  parts?: string[];
  early?: boolean;
  bare?: boolean;
  alone?: boolean;
  simulated?: boolean;
  timed?: boolean;
  wordless?: boolean;
  styles?: string[];
}
interface Page {
  open?(params: URLSearchParams): Promise<void>;
  view(): Template;
  // What stands beside the title.
  tools?(): Template;
  // What can be done only when the page is there: to measure it, to scroll.
  onDrawn?(): void;
  close?(): void;
}

// A part of a drawer or of a group of *Messages* and *System*: a form, or something else that is
// drawn.
interface Card {
  view(): Template;
  open?(params?: URLSearchParams): Promise<unknown>;
  close?(): void;
}
// What the drawer adds to the forms in it.
interface MoreOfForm {
  forms: Set<Unsaved & { restore(): void }>;
  requests: string[];
}
interface ThingPlace {
  index: number;
  label: string;
  more: MoreOfForm;
}
type CardsOf = (context: AdminContext, place: ThingPlace) => Card[];
type CommonOf = (context: AdminContext, more: MoreOfForm) => Card[];
type PartOf = (context: AdminContext) => Card[];
// A module of settings/: of each thing of a kind, and of all of them.
interface SettingsModule {
  cardsOf: CardsOf;
  commonOf: CommonOf;
}

interface Route {
  name: string;
  params: URLSearchParams;
  thing: string | null;
}

// See lib/things/things.js.
interface Thing {
  label: string;
  kind: string | null;
  number: string;
  name: string;
  value: string;
  address: string;
}

// What stands in the query of an address.
type Params = Record<string, string | number>;

// A text of words/*.json: by its key, or by [key, values].
type Key = string;
type Values = Record<string, unknown>;
type Named = Key | [Key, Values];

// Replies, where the schema leaves them open.

type Labels = Api.Replies["/api/labels"];
type LabelsByCode = Api.Replies["/api/reading-codes"];
type Modules = Api.Replies["/api/modules"];
type LogEntries = Api.Replies["/api/log"];
type AuditEntries = Api.Replies["/api/audit"];
type Outbox = Api.Replies["/api/outbox"];
// One unit as `unit watch` knows it.
type WatchedUnit = {
  name: string;
  address: string;
  mac: string;
  told_name: string;
  hardware: string;
  software: string;
  seen: number | null;
  tags: string[];
  levers: (number | null)[];
  happened: number[];
  looks: number;
  restarts: number;
  restarted: number | null;
  health: "lost" | "fault" | "attention" | "waiting" | "fine";
  troubles: Record<string, string>;
  findings: (Pick<Api.FindingReport, "kind" | "label" | "figures" | "text" | "page"> & {
    id: string;
  })[];
  differences: UnitDifference[] | null;
  names: Record<string, string>;
  has_file: boolean;
  progress: { done: number; steps: number; is_over: boolean; trouble: string } | null;
};
type WatchedUnits = { time: number; may_apply: boolean; units: WatchedUnit[] };
type UnitDifference = { path: string; unit: string; file: string };
type UnitPlan = {
  key: string;
  steps: {
    doc: string;
    changes: { path: string; old: string | null; new: string }[];
    more: number;
    request: string;
  }[];
  left_out: { path: string; reason: string }[];
  unseen: { path: string; fate: "kept" | "set" | "removed"; value: string; is_lost: boolean }[];
};
// What the page of a node with many controllers receives.
type FleetHealth = "fine" | "attention" | "fault" | "off" | "unknown";
type FleetRow = {
  name: string;
  url: string;
  address: string | null;
  port: number | null;
  hw: string;
  sw: string;
  tags: string[];
  tenant: string;
  health: FleetHealth;
  findings: number;
  worst: Api.FindingReport | null;
  about: string | null;
  levers: (number | null)[];
  happened: number[];
  // Of several nodes, the one that has it; "" where none has.
  node: string;
};
type FleetNode = {
  controllers: number;
  tags: Record<string, number>;
  versions: Record<string, number>;
  tenants: Record<string, number>;
  virtual: boolean;
  time: number;
  timezone: string;
  rate: number;
  newest: Record<string, string>;
  snapshots: string[];
  troubles: string[];
  account: string;
  role: "administrator" | "user";
  // Whose people look at it; null for the operator.
  tenant: string | null;
  // The controllers that failed to start and can be retried.
  can_start: string[];
  // How many controllers run; null when the node has started all of them.
  starting: { done: number; of: number } | null;
};
// What became of moving time: for how many controllers, by how much, for how many something was due.
type FleetMoved = { moved: number; moved_s: number; due: number | null };
type FleetView = {
  node: FleetNode;
  // Where there is one node, nothing is unknown.
  counts: Partial<Record<FleetHealth, number>>;
  matching: number;
  order: string[];
  rows: FleetRow[];
  // Findings that several controllers have, worst first.
  groups: FindingGroup[];
  cluster: FleetCluster | null;
  rollouts: FleetRollout[];
  // Another number after each change.
  changes: number;
};
type FleetPeer = {
  name: string;
  is_alive: boolean;
  inner: string;
  capacity: number;
  controllers: number;
  is_this: boolean;
  is_drained: boolean;
  silent_s: number;
  batch: number;
  version: string;
  has_resigned: boolean;
};
type FleetDatabase = {
  is_reachable: boolean;
  server: string;
  schema: number;
  standby: string;
  standbys: number | null;
  batches_s: number;
  last_doubt: number | null;
};
type FleetCluster = {
  nodes: FleetPeer[];
  free: number;
  is_in_doubt: boolean;
  database: FleetDatabase;
};
type FleetRollout = {
  id: string;
  title: string;
  status: "planned" | "running" | "waiting" | "stopped" | "finished" | "undoing" | "undone";
  why: string | null;
  by: string;
  at: number;
  group: number;
  groups: { size: number; done: number; failed: number; undone: number }[];
  controllers: number;
  done: number;
  failed: number;
  undone: number;
  go_on_at: number | null;
  can: string[];
  success: number;
  max_errors: number | null;
  pause_s: number;
  results: BulkReport["results"];
};
type FleetTenant = { name: string; controllers: number; accounts: number; max_controllers: number };
type FleetAccount = { name: string; role: "administrator" | "user"; tenant: string };
type OpenControllers = { protected: BulkReport["results"]; left_open: number };
type AccountMade = FleetAccount & OpenControllers & {
  password: string;
  administrator: string | null;
  administrator_password: string | null;
};
type FleetWanted = {
  // By the key of a group of findings.
  finding: string;
  search: string;
  health: string;
  tag: string;
  owner: string;
  version: string;
  order: string;
};
// What changes are looked for by beside that.
type FleetLooked = { by: string; text: string };
type FleetChangesOf = FleetWanted & { by: string };
// Of one controller, or of several that changed alike: some of these are named.
type FleetChange = {
  name: string;
  url: string;
  entry: AuditEntries[number];
  count: number;
  others: { name: string; url: string }[];
};
type FindingGroup = {
  key: string;
  finding: Api.FindingReport;
  about: string | null;
  count: number;
};
type MemberDrift = {
  name: string;
  status: number;
  differs?: number;
  settings?: CommandEffect[];
  detail?: string;
};
type FleetChoice = { names?: string[]; wanted?: FleetWanted };
type CommandEffect = { what: string; old: unknown; new: unknown; is_state: boolean };
type BulkReport = {
  done: number;
  refused: number;
  dry_run: boolean;
  results: {
    name: string;
    status: number;
    detail?: string;
    effects?: CommandEffect[];
    // How many more effects there are.
    more?: number;
    // Of an administrator that was made.
    password?: string;
  }[];
};
type MadeReport = { names: string[]; dry_run: boolean; password: string | null };
// What the parts of that page know of it.
interface FleetPageLike {
  readonly choice: FleetChoice;
  readonly count: number;
  readonly node: FleetNode | null;
  readonly time: number;
  readonly cluster: FleetCluster | null;
  readonly rows: FleetRow[];
  readonly rowNames: string[];
  chooseNone(): void;
  fork(): null;
}
type Certificate = Api.Replies["/api/certificate"];
type StorageReport = Api.Replies["/api/storage"];
type Firmware = Api.Replies["/api/firmware"];
type RestoreTrial = Api.RestoreTrial;
type NotRestored = Api.Replies["/api/restore-report"];
type BenchReport = Api.Replies["/api/sim"];
type BenchSnapshot = Api.Replies["/api/sim/snapshots"][number];
type Modem = Api.Replies["/api/modem"];
type Settings = Api.Settings;
type Rule = Api.Rule;
type State = Api.State;
// `status`: the keys of /json/status.json that pages use.
type Status = Record<"sname" | "echeck" | "posleft" | "postop" | "outnn" | "inpdnn" | "outblock", string>;
interface Start extends Omit<Api.Start, "status" | "state"> {
  status: Partial<Status>;
  state: State;
}
// A series is raw where the step is 0, else reduced; it has the members of one of them only.
type HistoryReply = Api.History;
type RawSeries = { times: number[]; values: (number | null)[] };
type ReducedSeries = Record<"min" | "mean" | "max", (number | null)[]>;
// Several series on common times: raw values have a step of 0, reduced ones three columns each.
interface ChartTable {
  step: number;
  times: number[];
  columns: Partial<Record<"values" | "min" | "mean" | "max", (number | null)[]>>[];
}
// When a state was on: from, to, share of the time.
type Bar = [number, number, number];
type Message = Outbox["sent"][number] & { content?: Record<string, unknown> };
type CommandRow = Omit<Api.Replies["/api/commands"][number], "fields" | "body"> & {
  fields: CommandField[];
  body: { kind: "form" | "list" | "upload"; fields: CommandField[]; item: string; content: string; max_bytes: number } | null;
};
type CommandField = Omit<Api.Replies["/api/commands"][number]["fields"][number], "schema"> & {
  schema: Schema;
};

// What may be set: the schema of a field of a command. Which members it has depends on its type;
// lib/forms/schema.js asks for it first.
interface Schema {
  type: "integer" | "string" | "array" | "object";
  minimum: number;
  maximum: number;
  enum?: number[];
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  contentEncoding?: string;
  description?: string;
  items: Schema;
  minItems: number;
  maxItems: number;
  properties: Record<string, Schema>;
  oneOf?: Schema[];
  "x-when": string[];
  "x-depends": string;
  "x-flag"?: boolean;
  "x-bits"?: number;
  "x-words"?: Record<string, string>;
  "x-factor"?: number;
  "x-unit"?: string;
  "x-quantity"?: "duration";
  "x-per"?: number;
  "x-separator": string;
}

// A value as the settings have it, and what is typed in a field for it: texts of numbers and
// texts, the word of a code, true or false, or all that for each part.
type Value = string | number | boolean | null | undefined | Value[] | { [part: string]: Value };
type Typed = string | boolean | Typed[] | { [part: string]: Typed };
// By the letter of the command's field.
type ByLetter = Record<string, Value>;

// A request as a command makes it.
interface CommandRequest {
  target: string;
  body?: string;
}
// One that carries the commands of several rows of a card.
type JoinedRequest = CommandRequest & { rows: Row[] };
// Any request, as the console sends it.
interface Asked {
  method: string;
  target: string;
  body?: string | File | null;
  type?: string;
}
// Why a request was refused.
type Problem = Pick<Api.Problem, "status" | "detail" | "command" | "field">;
// Gives the setting behind a field of a command.
type Read = (field: { command: Command; at: ByLetter; letter: string; spec: Partial<FieldSpec> }) => Value;
// An item of the test bench: name and value.
type BenchItem = [string, string];

// A field of a card: see lib/forms/form.js.
interface FieldSpec {
  command: string;
  at?: ByLetter;
  letter?: string;
  part?: string | number;
  parts?: Record<string, string> | string[];
  label?: Named;
  plainLabel?: string;
  hint?: Named;
  unit?: string;
  per?: number;
  none?: [Value, Named];
  path?: string;
  read?(settings: Settings): Value;
  secret?: boolean;
  keepsSecret?: boolean;
  forgottenBy?(card: BoundField[]): boolean;
  hidden?: boolean;
  draw?: Draw;
}
// Command -> letter -> where its setting is.
type Source = string | ((settings: Settings) => Value);
type Paths = Record<string, Record<string, Source>>;
interface FormSpec {
  heading?: string | (() => string);
  title?: Named;
  note?: Named;
  lead?(): Template;
  tail?(): Template;
  fields: FieldSpec[];
  forms?: Set<Unsaved & { restore(): void }>;
  opened?: string[];
  isUnused?(): boolean;
  requests?: string[];
  paths?: Paths;
}

// What a drawing of a field needs to know of it; a part of a field is one, too.
interface DrawnField {
  id: string;
  typed: Typed;
  spec: Partial<FieldSpec>;
  isChanged: boolean;
  isSecret: boolean;
  isSet?: boolean;
  foreign?: { was: string; now: string } | null;
}
interface Drawn {
  schema: Schema;
  problem: string | null;
  change(typed: Typed): void;
  form?: Form;
}
type Draw = (field: DrawnField, drawn: Drawn) => Template;

// See lib/forms/action.js and lib/things/lever.js.
interface ActionSpec {
  label?: Named;
  plainLabel?(): string;
  command?: string;
  values?: ByLetter | (() => ByLetter);
  perform?(): Promise<unknown>;
  done?: Named;
  danger?: Named;
  isQuiet?: boolean;
  // What its card is there for.
  isMain?: boolean;
  typed?(): string;
  isReady?(): boolean;
}
interface FileChoiceSpec {
  id: string;
  label: Named;
  accept?: string;
  // The file that is chosen now, or that none is.
  onChange?(file: File | null): unknown;
}
interface LeverSpec {
  label: string;
  name(): string;
  act(on: boolean): Promise<unknown>;
  tag?(): string;
  inverted?(): boolean;
  reason?(): string | null;
  explain?(): Promise<string | null>;
  notes?(): string[];
}

// A form of the open page that may hold unsaved changes.
interface Unsaved {
  isChanged: boolean;
  save(): Promise<boolean>;
}

type Connection = "connecting" | "live" | "late" | "polling" | "lost";

// Charts: a token of style.css as a colour, and what people may do with one.
type Colours = (token: string) => string;
interface Moves {
  zoom?(from: number, to: number): void;
  back?(): void;
  point?(time: number | null): void;
  press?(time: number): void;
  sync?: string;
}
