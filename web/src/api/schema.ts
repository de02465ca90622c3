// Made from the server’s OpenAPI description by scripts/make-api-types.mjs; do not edit by hand.

/** What the host did while the device waited for it, or may have where the launch is not known. */
export interface Activity {
  readonly rank: number
  readonly step: number
  readonly activity: string
  readonly idle_us: number
  readonly share: number
}

/** One call on one level; the variance is that of the population, in square microseconds. */
export interface ApiStatistic {
  readonly rank: number
  readonly level: string
  readonly name: string
  readonly total_us: number
  readonly count: number
  readonly avg_us: number
  readonly min_us: number
  readonly p50_us: number
  readonly p95_us: number
  readonly max_us: number
  readonly variance_us2: number
}

export interface ApiStatisticsDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly ApiStatistic[]
}

/** A change, which names it concerned, and how long all of that took per step as recorded, on all ranks together. */
export interface AppliedChange {
  readonly change: string
  readonly names: readonly string[]
  readonly recorded_us: number
}

/** One part of handing over a batch, over all batches; first ones (of the run, of an epoch) stand apart. */
export interface BatchTimes {
  readonly rank: number
  readonly part: 'get' | 'interval' | 'push' | 'total'
  readonly count: number
  readonly first_us: number | null
  readonly mean_us: number
  readonly median_us: number
  readonly p95_us: number
  readonly max_us: number
}

/** A sentence in both languages. */
export interface Bilingual {
  readonly en: string
  readonly zh: string
}

/** Blocks of one birth step that are alive at the end. */
export interface Birth {
  readonly step: number
  readonly blocks: number
  readonly bytes: number
}

/** How much of a path is bound by one thing; the entries of a path add up to its length. */
export interface BoundShare {
  readonly bound: string
  readonly duration_us: number
  readonly share: number
}

/** What the stages of a pipeline wait for data of each other, over all ranks. */
export interface Bubble {
  readonly wait_us: number
  readonly share: number
}

/** The occurrences called from one place; the outermost frame first. */
export interface CallSite {
  readonly frames: readonly string[]
  readonly count: number
  readonly total_us: number
  readonly share: number | null
}

/** Recorded bytes of one category over time. */
export interface CategoryCurve {
  readonly category: string
  readonly time_ns: readonly (number | string)[]
  readonly bytes: readonly number[]
}

/** A category's part of the sum. */
export interface CategoryPart {
  readonly category: string
  readonly confidence: string
  readonly bytes: number
  readonly share: number
  readonly blocks: number | null
}

/** A job as a whole; `slowdown` is null where no replay comes close to the recorded steps. */
export interface Cluster {
  readonly plan: Plan
  readonly ranks: readonly RankRow[]
  readonly by_dimension: readonly PartTimes[]
  readonly stages: readonly PartTimes[]
  readonly hosts: readonly PartTimes[]
  readonly groups: readonly PartTimes[]
  readonly bubble: Bubble | null
  readonly stage_balance: number | null
  readonly expert_balance: number | null
  readonly slowdown: Slowdown | null
}

export interface ClusterDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Cluster
}

/** One rank's part in a call; `call` is the same for all members, and `start_ns` is on the run's clock. */
export interface CollectiveCall {
  readonly rank: number
  readonly slice: number | null
  readonly call: number | null
  readonly step: number | null
  readonly group: string | null
  readonly kind: string | null
  readonly name: string
  readonly seq: number | null
  readonly start_ns: number | string
  readonly duration_us: number
  readonly wait_us: number | null
  readonly transit_us: number | null
  readonly skew_us: number | null
  readonly bytes: number | null
}

export interface CollectivesDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly CollectiveCall[]
}

/** The communication of a run. */
export interface Communication {
  readonly operations: readonly Operation[]
  readonly by_rank: readonly RankTimes[]
  readonly durations: readonly DurationBin[]
  readonly waits: readonly Wait[]
  readonly matrix: readonly Link[]
  readonly links: readonly Transport[]
  readonly packets: readonly PacketSize[]
  readonly groups: readonly Group[]
  readonly unjoined: readonly Unjoined[]
  readonly clocks: readonly HostClock[]
}

/** A kind of collective or point-to-point call; `exposed` is what computing did not hide. */
export interface CommunicationChange {
  readonly name: string
  readonly a_count: number
  readonly b_count: number
  readonly a_us: number
  readonly b_us: number
  readonly delta_us: number
  readonly a_exposed_us: number
  readonly b_exposed_us: number
  readonly delta_exposed_us: number
  readonly a_bytes: number | null
  readonly b_bytes: number | null
  readonly significant: boolean
}

export interface CommunicationDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Communication
}

/** What changed from run `a` to run `b`. */
export interface CompareDocument {
  readonly schema: string
  readonly run: ComparedRuns
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Comparison
}

/** The runs of both sides. */
export interface ComparedRuns {
  readonly a: RunHead
  readonly b: RunHead
}

/** What was compared. */
export interface ComparedSide {
  readonly name: string
  readonly path: string
  readonly window: string
  readonly ranks: readonly number[]
  readonly steps: number
  readonly device_kind: string | null
  readonly device_name: string | null
  readonly period_us: number
  readonly period_median_us: number
  readonly period_p95_us: number
  readonly peak_bytes: number | null
}

/** Two sides, what changed and why. */
export interface Comparison {
  readonly verdict: ComparisonVerdict
  readonly a: ComparedSide
  readonly b: ComparedSide
  readonly overall: readonly PartChange[]
  readonly explained: readonly StepscopeCompareComparisonExplanation[]
  readonly steps: readonly StepPair[]
  readonly operators: readonly OperatorChange[]
  readonly kernels: readonly GroupChange[]
  readonly categories: readonly GroupChange[]
  readonly modules: readonly GroupChange[]
  readonly communication: readonly CommunicationChange[]
  readonly memory: MemoryChange | null
  readonly findings: readonly FindingChange[]
  readonly history?: readonly HistoryEntry[]
  readonly gates?: readonly Gate[]
  readonly rows_left_out?: number
}

/** The comparison in one word and one sentence; below `floor_share` nothing is called a difference. */
export interface ComparisonVerdict {
  readonly word: 'faster' | 'not_comparable' | 'same' | 'slower'
  readonly sentence: Bilingual
  readonly delta_us: number
  readonly delta_share: number
  readonly noise_us: number | null
  readonly floor_share: number
  readonly reasons: readonly Reason[]
  readonly steps_needed: number | null
}

/** Copies of one kind and name of one rank; `bandwidth` counts only copies whose size is known. */
export interface Copies {
  readonly rank: number
  readonly kind: string
  readonly name: string
  readonly pageable: boolean
  readonly count: number
  readonly total_us: number
  readonly avg_us: number
  readonly max_us: number
  readonly share: number | null
  readonly sized: number
  readonly bytes: number | null
  readonly min_bytes: number | null
  readonly max_bytes: number | null
  readonly bandwidth_bytes_per_s: number | null
}

export interface CopiesDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly Copies[]
}

export interface CounterRequest {
  readonly rank: number
  readonly track: number
  readonly level: number
  readonly index: number
}

export interface CounterSpan {
  readonly points: number
  readonly min: number | null
  readonly max: number | null
}

export interface CountersRequest {
  readonly tiles: readonly CounterRequest[]
}

/** Use of processors in a run. */
export interface Cpu {
  readonly ranks: readonly CpuRank[]
  readonly uses: readonly CpuUse[]
  readonly steps: readonly CpuStep[]
  readonly curves: readonly CpuCurve[]
}

/** One user of processors over time; the extremes of every stretch are kept. */
export interface CpuCurve {
  readonly rank: number
  readonly scope: string
  readonly id: number | null
  readonly name: string | null
  readonly time_ns: readonly (number | string)[]
  readonly step: readonly (number | null)[]
  readonly user_cores: readonly (number | null)[]
  readonly system_cores: readonly (number | null)[]
  readonly busy_cores: readonly (number | null)[]
}

export interface CpuDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Cpu
}

/** The processors of a rank's machine, and who uses them. */
export interface CpuRank {
  readonly rank: number
  readonly cores: number | null
  readonly machine_busy_share: number | null
  readonly process_cores: number | null
  readonly sibling_cores: number
  readonly other_cores: number | null
  readonly other_share: number | null
  readonly contended: boolean | null
  readonly runnable_mean: number | null
  readonly waiting_mean: number | null
  readonly crowded_share: number | null
  readonly context_switches_per_s: number | null
  readonly unit: 'batch' | 'step' | null
}

/** One user of processors within a step. */
export interface CpuStep {
  readonly rank: number
  readonly step: number
  readonly scope: string
  readonly id: number | null
  readonly samples: number
  readonly user_cores: number | null
  readonly system_cores: number | null
  readonly busy_cores: number | null
}

/** One user of processors: means over the time of all its samples. */
export interface CpuUse {
  readonly rank: number
  readonly scope: string
  readonly id: number | null
  readonly name: string | null
  readonly samples: number
  readonly user_cores: number | null
  readonly system_cores: number | null
  readonly io_cores: number | null
  readonly idle_cores: number | null
  readonly busy_cores: number | null
  readonly busy_p95_cores: number | null
  readonly busy_max_cores: number | null
  readonly workers: number | null
  readonly per_worker_share: number | null
}

/** The path of one step of one rank. */
export interface CriticalPath {
  readonly rank: number
  readonly step: number
  readonly start_ns: number | string
  readonly length_us: number
  readonly by_bound: readonly BoundShare[]
  readonly by_name: readonly NameShare[]
  readonly path: readonly PathPart[]
  readonly inferred_waits: number
  readonly needs: readonly string[]
}

export interface CriticalPathDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly CriticalPath[]
}

/** The lines of one space; each value holds until the next moment. */
export interface Curve {
  readonly rank: number
  readonly device: string
  readonly component: string
  readonly points: number
  readonly time_ns: readonly (number | string)[]
  readonly allocated_bytes: readonly number[] | null
  readonly active_bytes: readonly number[] | null
  readonly reserved_bytes: readonly number[] | null
}

/** One part of the step's time among all ranks, and within each communication group that was captured in part. */
export interface Delimitation {
  readonly share: number
  readonly spread_share: number
  readonly flagged: boolean
  readonly reasons: readonly string[]
  readonly ranks: readonly number[]
  readonly groups: readonly GroupShare[]
}

export interface DiagnoseDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Diagnosis
}

/** All findings of a run, the most important first. */
export interface Diagnosis {
  readonly verdict: RunVerdict
  readonly findings: readonly Finding[]
  readonly not_checked: readonly NotChecked[]
  readonly period_us?: number | null
  readonly path?: readonly PathStep[]
}

/** The slowdown if only one line of ranks kept its recorded durations. */
export interface DimensionSlowdown {
  readonly dimension: string
  readonly index: number
  readonly slowdown: number
}

/** What a row of `operators` consists of: the next level, and its longest slices. */
export interface Drill {
  readonly by: string | null
  readonly name: string | null
  readonly next: string
  readonly side: string
  readonly count: number
  readonly total_us: number
  readonly parts: readonly Part[]
  readonly slices: readonly Executed[]
}

export interface DrillDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Drill
}

/** How many calls of an operation took at least `from_us` and less than `to_us`. */
export interface DurationBin {
  readonly group: string | null
  readonly kind: string | null
  readonly name: string
  readonly from_us: number
  readonly to_us: number
  readonly count: number
}

/** How many occurrences lasted from `from_us` to `to_us`. */
export interface DurationClass {
  readonly from_us: number
  readonly to_us: number
  readonly count: number
}

/** A number that the verdict rests on, and the one it was compared with. */
export interface Evidence {
  readonly metric: string
  readonly value: number
  readonly unit: string
  readonly baseline?: number | null
  readonly op?: string | null
}

/** One slice, as `slices` numbers it. */
export interface Executed {
  readonly rank: number
  readonly slice: number
  readonly name: string
  readonly operator: string | null
  readonly module: string | null
  readonly step: number | null
  readonly start_ns: number | string
  readonly duration_us: number
}

export interface ExplainDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: StepscopeQuestionsExplainExplanation
}

/** What every error looks like. `message` and `hint` are in the language that was asked for. */
export interface Fault {
  readonly code: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message: string
  readonly hint: string | null
}

export interface FieldMeaning {
  readonly field: string
  readonly unit: string | null
  readonly en: string
  readonly zh: string
  readonly formula: string
}

/** One diagnosed problem. `ranks` are those that cause it, not those that suffer. */
export interface Finding {
  readonly id: string
  readonly kind: string
  readonly severity: 'critical' | 'info' | 'warning'
  readonly cause: string | null
  readonly confidence: 'confirmed' | 'likely' | 'suspect'
  readonly title: Bilingual
  readonly ranks: readonly number[]
  readonly steps: readonly number[]
  readonly where: Where
  readonly evidence: readonly FindingEvidence[]
  readonly gain_us: number | null
  readonly gain_share: number | null
  readonly gain_method:
    | 'call_replay'
    | 'copies_overlapped'
    | 'copies_removed'
    | 'cores_free'
    | 'exposure_removed'
    | 'fused'
    | 'half_precision'
    | 'host_work_removed'
    | 'idle_removed'
    | 'kernels_removed'
    | 'link_as_others'
    | 'more_micro_batches'
    | 'operation_replay'
    | 'pipeline_next_limit'
    | 'reachable_rate'
    | 'replay'
    | 'replay_alone'
    | 'replay_uncertain'
    | 'stage_evened'
    | 'usual_clock'
    | 'usual_step'
    | 'usual_transfer'
    | 'waiting_removed'
    | null
  readonly advice: Bilingual
  readonly proof: readonly Proof[]
  readonly validate_with: string | null
  readonly next_commands: readonly string[]
  readonly comes_after?: readonly string[]
}

/** A finding that one side has, or that both have with another weight. */
export interface FindingChange {
  readonly change: 'came' | 'changed' | 'went'
  readonly kind: string
  readonly cause: string | null
  readonly title: Bilingual
  readonly a_id: string | null
  readonly b_id: string | null
  readonly a_severity: string | null
  readonly b_severity: string | null
  readonly a_gain_share: number | null
  readonly b_gain_share: number | null
}

/** A number that the finding rests on, the one it was compared with, and the page that shows it. */
export interface FindingEvidence {
  readonly metric: string
  readonly label: Bilingual
  readonly value: number
  readonly unit: string
  readonly baseline?: number | null
  readonly link?: 'cluster' | 'communication' | 'cpu' | 'data' | 'memory' | 'operators' | 'steps' | 'timeline' | null
}

/** Callers come before whom they call. `total_ns` is of the outermost slices, all ranks together. */
export interface Flame {
  readonly from_ns: number
  readonly to_ns: number
  readonly total_ns: number
  readonly nodes: readonly FlameNode[]
  readonly nodes_total: number
}

/** `parent` is the position of the caller in the list, null at the top. Times are the parts inside the window. */
export interface FlameNode {
  readonly name: string
  readonly parent: number | null
  readonly depth: number
  readonly count: number
  readonly total_ns: number
  readonly self_ns: number
}

export interface FlameRequest {
  readonly from_ns: number
  readonly to_ns: number
  readonly rows: readonly RowsRequest[]
  readonly limit?: number
}

/** FLOPs of a run. */
export interface Flops {
  readonly ranks: readonly RankFlops[]
  readonly steps: readonly StepFlops[]
  readonly operators: readonly OperatorFlops[]
}

export interface FlopsDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Flops
}

/** Columns of equal length; `total` counts also what was not drawn. Times since the run's origin. */
export interface Flows {
  readonly total: number
  readonly shown: number
  readonly rank: readonly number[]
  readonly kind: readonly string[]
  readonly from_slice: readonly number[]
  readonly from_row: readonly number[]
  readonly from_at_ns: readonly number[]
  readonly from_dur_ns: readonly number[]
  readonly to_slice: readonly number[]
  readonly to_row: readonly number[]
  readonly to_at_ns: readonly number[]
  readonly to_dur_ns: readonly number[]
}

/** Links of some slices, or of a window of some rows. */
export interface FlowsRequest {
  readonly slices?: readonly SliceRequest[] | null
  readonly from_ns?: number | null
  readonly to_ns?: number | null
  readonly rows?: readonly RowsRequest[] | null
  readonly kinds?: readonly string[] | null
  readonly limit?: number
  readonly bins?: number
}

/** What is held and not used: at the peak from the lines, at the end from the segments. */
export interface Fragmentation {
  readonly peak_reserved_bytes: number
  readonly peak_idle_bytes: number
  readonly peak_idle_share: number
  readonly growths: number
  readonly growths_with_room: number
  readonly end_reserved_bytes: number | null
  readonly end_active_bytes: number | null
  readonly end_requested_bytes: number | null
  readonly idle_share: number | null
  readonly rounding_share: number | null
  readonly external_share: number | null
  readonly spread_share: number | null
  readonly largest_free_bytes: number | null
  readonly free_bytes: number | null
  readonly free_runs: number | null
  readonly releasable_bytes: number | null
}

/** A stretch without device work, and what the host did meanwhile. */
export interface Gap {
  readonly rank: number
  readonly step: number
  readonly start_ns: number | string
  readonly duration_us: number
  readonly lead: boolean
  readonly cause: string
  readonly cause_us: number
  readonly activity: string
  readonly activity_us: number
  readonly host_slice: number | null
  readonly host_name: string | null
  readonly sync_slice: number | null
  readonly sync_name: string | null
  readonly previous_slice: number | null
  readonly previous_name: string | null
  readonly next_slice: number | null
  readonly next_name: string | null
}

/** A condition that a comparison must not meet, and whether it does. */
export interface Gate {
  readonly gate: string
  readonly failed: boolean
  readonly sentence: Bilingual
}

/** Fetching of the next batch on the device, and how much of it ran beside compute. */
export interface GetNext {
  readonly rank: number
  readonly step: number | null
  readonly count: number
  readonly total_us: number
  readonly overlapped_us: number
  readonly overlapped_share: number
  readonly flagged: boolean
}

/** Sizes with the order of ranks, the fastest dimension first; or groups of ranks by dimension. */
export interface GivenPlan {
  readonly sizes?: Readonly<Record<string, number>>
  readonly order?: readonly string[]
  readonly groups?: Readonly<Record<string, readonly (readonly number[])[]>>
}

/** Leaking sites of one place and rhythm: most likely an output that is kept with its autograd graph. */
export interface Graph {
  readonly graph: number
  readonly rank: number
  readonly sites: number
  readonly where: string
  readonly bytes_per_step: number
}

/** A communication group. Where its members are not stated, they are those that were seen in calls. */
export interface Group {
  readonly group: string
  readonly name: string | null
  readonly dimension: string | null
  readonly ranks: readonly number[]
  readonly captured: readonly number[]
  readonly members_known: boolean
  readonly origin: string | null
  readonly confidence: string | null
}

/** Kernels of one name, a category, a module or a kind of collective: durations as recorded, which may overlap. */
export interface GroupChange {
  readonly name: string
  readonly a_count: number
  readonly b_count: number
  readonly a_us: number
  readonly b_us: number
  readonly delta_us: number
  readonly ratio: number | null
  readonly significant: boolean
}

/** One part of the step's time among some ranks. */
export interface GroupShare {
  readonly group: string
  readonly dimension: string | null
  readonly share: number
  readonly spread_share: number
  readonly flagged: boolean
  readonly reasons: readonly string[]
  readonly ranks: readonly number[]
}

/** One of the runs in their order. `word` and `changed` are against all runs since the last change. */
export interface HistoryEntry {
  readonly name: string
  readonly path: string
  readonly window: string
  readonly steps: number
  readonly period_us: number
  readonly period_p95_us: number
  readonly delta_us: number
  readonly delta_share: number
  readonly word: 'faster' | 'not_comparable' | 'same' | 'slower' | null
  readonly changed: boolean
}

/** `offset_us` is what is added to times of these ranks at the start of the run. */
export interface HostClock {
  readonly host: string | null
  readonly ranks: readonly number[]
  readonly state: string
  readonly offset_us: number | null
  readonly drift_ppm: number | null
  readonly error_us: number | null
  readonly calls: number | null
}

/** Idle time of the device in one step, as `steps` has it; the causes add up to `idle_us`. `kernel_us` and `other_us` are former names of `dependency_us` and `unknown_us`. */
export interface Idle {
  readonly rank: number
  readonly step: number
  readonly span_us: number
  readonly idle_us: number
  readonly free_us: number
  readonly lead_us: number
  readonly other_step_us: number
  readonly kernel_us: number
  readonly other_us: number
  readonly after_sync_us: number
  readonly gaps: number
  readonly data_us: number
  readonly host_us: number
  readonly sync_us: number
  readonly gc_us: number
  readonly collective_us: number
  readonly dependency_us: number
  readonly profiler_us: number
  readonly unknown_us: number
}

/** Idle time by what was waited for; the causes add up to the idle time. */
export interface IdleByCause {
  readonly data_us: number
  readonly host_us: number
  readonly sync_us: number
  readonly gc_us: number
  readonly collective_us: number
  readonly dependency_us: number
  readonly profiler_us: number
  readonly unknown_us: number
}

export interface LabelRequest {
  readonly name?: string | null
  readonly tags?: readonly string[]
}

/** computing + exposed_communication + exposed_copy + free = span_dur_ns, exactly; so do the causes make up free. A stretch of idle time counts for its main cause. */
export interface LaneTotals {
  readonly rank: number
  readonly on_device: boolean
  readonly span_at_ns: number
  readonly span_dur_ns: number
  readonly total_ns: Readonly<Record<string, number>>
  readonly idle_ns: Readonly<Record<string, number>>
  readonly intervals: Readonly<Record<string, number>>
}

export interface LanesAnswer {
  readonly lanes: readonly string[]
  readonly ranks: readonly LaneTotals[]
}

/** Host and launches of a run. `least_gap_us`: gaps from this length on are worth a look. */
export interface Launches {
  readonly steps: readonly StepLaunches[]
  readonly idle: readonly Idle[]
  readonly activities: readonly Activity[]
  readonly queue: readonly Queue[]
  readonly gaps: readonly Gap[]
  readonly statistics: readonly Statistics[]
  readonly syncs: readonly Sync[]
  readonly gc_pauses: readonly Pause[]
  readonly get_next: readonly GetNext[]
  readonly ranks: readonly RankLaunches[]
  readonly rank_activities: readonly RankActivity[]
  readonly least_gap_us: number
}

export interface LaunchesDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Launches
}

/** Sites, leaks first; pools; graphs; and how many sites never held anything beyond their step. */
export interface Leaks {
  readonly sites: readonly Site[]
  readonly pools: readonly Pool[]
  readonly graphs: readonly Graph[]
  readonly temporary_sites: number
  readonly warm_up_steps: number
  readonly leaking_sites: number
  readonly leaking_bytes_per_step: number
}

export interface LeaksDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Leaks
}

/** Blocks whose lives are of one class. */
export interface Lifetime {
  readonly lifetime: string
  readonly blocks: number
  readonly bytes: number
  readonly byte_seconds: number | null
}

/** Freed blocks that lived at least so long, and less than twice that. */
export interface LifetimeBin {
  readonly least_ns: number | string
  readonly blocks: number
  readonly bytes: number
}

/** What one rank moved to or from another over one transport. */
export interface Link {
  readonly rank: number
  readonly peer: number
  readonly transport: string | null
  readonly bytes: number
  readonly time_us: number
  readonly gb_per_s: number | null
  readonly packets: number | null
}

export interface ListedEntry {
  readonly name: string
  readonly path: string
  readonly kind: string
  readonly bytes: number | null
  readonly modified_ns: string
}

/** Entries of a directory below the roots, or the roots themselves. */
export interface Listing {
  readonly path: string | null
  readonly parent: string | null
  readonly entries: readonly ListedEntry[]
  readonly truncated: boolean
}

/** Ranges, or marks, of one name and domain on one rank; a mark has no length. */
export interface Mark {
  readonly rank: number
  readonly name: string
  readonly domain: string
  readonly kind: string
  readonly count: number
  readonly total_us: number
  readonly avg_us: number
  readonly min_us: number
  readonly p50_us: number
  readonly p95_us: number
  readonly max_us: number
  readonly per_step_us: number | null
}

export interface MarksDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly Mark[]
}

/** Where memory goes. All but `peaks`, `curves` and `out_of_memory` is about one space, the fullest. */
export interface Memory {
  readonly rank: number
  readonly device: string
  readonly component: string
  readonly measure: string
  readonly peak_bytes: number
  readonly peak_ns: number | string | null
  readonly peak_step: number | null
  readonly at_ns: number | string | null
  readonly at_bytes: number
  readonly owners: readonly Owner[]
  readonly categories: readonly CategoryPart[]
  readonly fragmentation: Fragmentation | null
  readonly lifetimes: readonly Lifetime[]
  readonly lifetime_bins: readonly LifetimeBin[]
  readonly steps: readonly StepBalance[]
  readonly step_difference: StepDifference | null
  readonly out_of_memory: readonly OutOfMemory[]
  readonly peaks: readonly Peak[]
  readonly curves: readonly Curve[]
  readonly category_curves: readonly CategoryCurve[]
}

/** The highest peak of all ranks. */
export interface MemoryChange {
  readonly a_peak_bytes: number
  readonly b_peak_bytes: number
  readonly delta_bytes: number
}

export interface MemoryDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Memory
}

/** Memory over time, or by step where `steps` is known: what is allocated, or what leaking places hold. Times count from `start_ns` of the rank's own clock. The finding is about `moment_ns`; of a request that failed then, `others_bytes` is what other processes held of the device's memory. */
export interface MemoryPicture {
  readonly finding: string
  readonly rank: number
  readonly device: string | null
  readonly start_ns: number | string | null
  readonly moment_ns: number | string | null
  readonly capacity_bytes: number | null
  readonly others_bytes: number | null
  readonly time_ns: readonly (number | string)[]
  readonly steps: readonly number[]
  readonly allocated_bytes: readonly number[]
  readonly reserved_bytes: readonly number[] | null
}

export interface NameHits {
  readonly name: string
  readonly count: number
}

/** All parts of a path that have one name and are bound by the same. */
export interface NameShare {
  readonly bound: string
  readonly name: string | null
  readonly count: number
  readonly duration_us: number
}

export interface NameTable {
  readonly rank: number
  readonly offset: number
  readonly total: number
  readonly names: readonly string[]
}

/** A kind that could not be checked, what was missing, and how to record it. `recordable` is false where no other recording of this job would show it: it does not happen in such a job, or nothing records it on this device. */
export interface NotChecked {
  readonly kind: string
  readonly needs: Bilingual
  readonly collect_with: Bilingual
  readonly recordable?: boolean
}

export interface NoteEntry {
  readonly code: string
  readonly level: string
  readonly message: string
  readonly rank: number | null
  readonly file: string
  readonly place: string
  readonly count: number
  readonly params: Readonly<Record<string, unknown>>
}

/** All notes of one code; `level` info asks nothing of a user. */
export interface NoteGroupEntry {
  readonly code: string
  readonly level: string
  readonly message: string
  readonly ranks: readonly number[]
  readonly rank_ranges: string
  readonly files: readonly string[]
  readonly count: number
}

/** One slice, as `slices` numbers it, with the time that it counts with. */
export interface Occurrence {
  readonly slice: number
  readonly name: string
  readonly operator: string | null
  readonly module: string | null
  readonly step: number | null
  readonly start_ns: number | string
  readonly duration_us: number
  readonly input_shapes: string | null
}

/** All occurrences of one row of `operators` on one rank. */
export interface Occurrences {
  readonly rank: number
  readonly by: string
  readonly name: string | null
  readonly side: string
  readonly count: number
  readonly total_us: number
  readonly p50_us: number
  readonly p95_us: number
  readonly durations: readonly DurationClass[]
  readonly steps: readonly StepShare[]
  readonly shapes: readonly ShapeShare[]
  readonly call_sites: readonly CallSite[]
  readonly longest: readonly Occurrence[]
}

export interface OccurrencesDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly Occurrences[]
}

/** One type of kernel on one kind of core; `ratio_share` is of the rank's kernel time. */
export interface OpStatistic {
  readonly rank: number
  readonly op_type: string | null
  readonly core_type: string | null
  readonly count: number
  readonly total_us: number
  readonly min_us: number
  readonly avg_us: number
  readonly max_us: number
  readonly ratio_share: number | null
}

export interface OpStatisticsDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly OpStatistic[]
}

export interface OpenRequest {
  readonly path: string
  readonly window?: string | null
}

/** Calls of one name in one group, of all ranks and steps asked for; `recorded_` is what files say themselves. */
export interface Operation {
  readonly group: string | null
  readonly kind: string | null
  readonly name: string
  readonly members: number | null
  readonly ranks: number
  readonly count: number
  readonly total_us: number | null
  readonly mean_us: number | null
  readonly min_us: number | null
  readonly p50_us: number | null
  readonly p95_us: number | null
  readonly max_us: number | null
  readonly skew_us: number | null
  readonly max_skew_us: number | null
  readonly transit_us: number | null
  readonly wait_us: number | null
  readonly overlapped_us: number | null
  readonly bytes: number | null
  readonly algorithm_gb_per_s: number | null
  readonly bus_gb_per_s: number | null
  readonly recorded_transit_us: number | null
  readonly recorded_wait_us: number | null
  readonly recorded_sync_us: number | null
  readonly recorded_idle_us: number | null
  readonly recorded_reduce_us: number | null
}

/** The slowdown if only operations of one name kept their durations. */
export interface OperationSlowdown {
  readonly operation: string
  readonly slowdown: number
}

/** One group of one rank; null is what the capture cannot tell or what has no meaning on that side. */
export interface Operator {
  readonly rank: number
  readonly name: string | null
  readonly type: string | null
  readonly core: string | null
  readonly side: string
  readonly operator: string | null
  readonly category: string | null
  readonly count: number
  readonly total_us: number
  readonly avg_us: number
  readonly min_us: number
  readonly p50_us: number
  readonly p95_us: number
  readonly max_us: number
  readonly share: number | null
  readonly busy_share: number | null
  readonly per_step_us: number | null
  readonly steps: number
  readonly self_us: number | null
  readonly device_total_us: number | null
  readonly device_self_us: number | null
  readonly input_shapes: string | null
  readonly dtypes: string | null
  readonly pmu: Readonly<Record<string, number | null>> | null
}

/** Calls of an operator on both sides. `delta = count_effect + duration_effect`, exactly. `a_slice` and `b_slice` are an example on `a_rank` and `b_rank`. */
export interface OperatorChange {
  readonly part: string
  readonly name: string
  readonly b_name: string | null
  readonly path: string
  readonly b_path: string | null
  readonly shapes: string | null
  readonly b_shapes: string | null
  readonly module: string | null
  readonly status: 'matched' | 'only_a' | 'only_b' | 'other_shapes' | 'renamed' | 'replaced'
  readonly a_count: number
  readonly b_count: number
  readonly a_us: number
  readonly b_us: number
  readonly delta_us: number
  readonly delta_share: number
  readonly ratio: number | null
  readonly count_effect_us: number
  readonly duration_effect_us: number
  readonly significant: boolean
  readonly a_rank: number | null
  readonly a_slice: number | null
  readonly b_rank: number | null
  readonly b_slice: number | null
}

/** One operator (or kernel type) of one rank in one element type; null is what capture or table cannot tell. */
export interface OperatorFlops {
  readonly rank: number
  readonly name: string
  readonly kind: string
  readonly dtype: string | null
  readonly input_shapes: string | null
  readonly source: string
  readonly count: number
  readonly flops: number
  readonly device_us: number | null
  readonly flops_per_s: number | null
  readonly peak_flops_per_s: number | null
  readonly peak_share: number | null
  readonly bytes: number | null
  readonly intensity: number | null
  readonly bound: string | null
  readonly attainable_flops_per_s: number | null
  readonly attainable_share: number | null
  readonly tensor_core_share: number | null
}

/** What the shares of one side of a rank are shares of; `groups` counts the rows, also those beyond the limit. */
export interface OperatorTotal {
  readonly rank: number
  readonly side: string
  readonly total_us: number
  readonly groups: number
}

export interface OperatorsDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly Operator[]
  readonly totals: readonly OperatorTotal[]
}

/** What we computed. */
export interface OurValue {
  readonly rank: number | null
  readonly step: number | null
  readonly name: string | null
  readonly value: unknown
}

/** A request that failed, and why. */
export interface OutOfMemory {
  readonly rank: number
  readonly device: string
  readonly time_ns: number | string
  readonly step: number | null
  readonly cause: string
  readonly requested_bytes: number | null
  readonly device_free_bytes: number | null
  readonly reserved_bytes: number | null
  readonly pool_free_bytes: number | null
  readonly largest_free_bytes: number | null
  readonly capacity_bytes: number | null
  readonly others_bytes: number | null
  readonly stack: string | null
}

/** Blocks of one site and category that live at the moment asked for; or a part of the sum that no block tells. */
export interface Owner {
  readonly owner: string
  readonly kind: string
  readonly bytes: number
  readonly share: number
  readonly blocks: number | null
  readonly category: string
  readonly confidence: string
  readonly operator: string | null
  readonly first_step: number | null
  readonly last_step: number | null
  readonly saving_bytes: number | null
  readonly stack: string | null
}

/** What moved over one transport in packets of at least `from_bytes` and less than `to_bytes`. */
export interface PacketSize {
  readonly transport: string | null
  readonly from_bytes: number
  readonly to_bytes: number
  readonly packets: number
  readonly bytes: number
  readonly time_us: number
  readonly gb_per_s: number | null
}

/** Something to choose; without choices any value of its type, from `least` on. */
export interface ParameterInfo {
  readonly name: string
  readonly type: string
  readonly default: string | number | boolean | readonly string[] | null
  readonly choices: readonly string[]
  readonly least: number | null
  readonly en: string
  readonly zh: string
}

/** One entry of the next level. */
export interface Part {
  readonly name: string | null
  readonly count: number
  readonly total_us: number
  readonly avg_us: number
  readonly max_us: number
  readonly share: number | null
}

/** A part of the period; `share` is of A's period. */
export interface PartChange {
  readonly part: string
  readonly a_us: number
  readonly b_us: number
  readonly delta_us: number
  readonly delta_share: number
  readonly noise_us: number | null
  readonly significant: boolean
}

/** A part of a job, named by dimension and index, by host, or by ids; times are means over its ranks. */
export interface PartTimes {
  readonly dimension: string | null
  readonly index: number | null
  readonly host: string | null
  readonly ids: readonly string[]
  readonly ranks: readonly number[]
  readonly computing_spread_share: number | null
  readonly slowest_rank: number | null
  readonly flops_per_s: number | null
  readonly peak_memory_bytes: number | null
  readonly period_us: number | null
  readonly computing_us: number | null
  readonly exposed_communication_us: number | null
  readonly exposed_copy_us: number | null
  readonly idle_us: number | null
  readonly overlap_us: number | null
  readonly interval_us: number | null
  readonly forward_backward_us: number | null
  readonly tail_us: number | null
  readonly communication_us: number | null
  readonly overlapped_us: number | null
  readonly receive_alone_us: number | null
  readonly collective_alone_us: number | null
  readonly bubble_us: number | null
  readonly stage_us: number | null
  readonly wait_us: number | null
  readonly pipeline_wait_us: number | null
  readonly caused_wait_us: number | null
  readonly delay_us: number | null
}

/** The three parts of the step's time. */
export interface Parts {
  readonly computing: Delimitation
  readonly communication: Delimitation
  readonly free: Delimitation
}

/** A part of a path; each begins where the one before ends. */
export interface PathPart {
  readonly slice: number | null
  readonly name: string | null
  readonly start_ns: number | string
  readonly duration_us: number
  readonly bound: string
}

/** A question of a decision tree: what was seen, from what on it is a yes, and the findings that it led to. `depth` 1 is asked because the question before it at depth 0 was answered with yes. `ranks` stand out. */
export interface PathStep {
  readonly tree: string
  readonly question: string
  readonly text: Bilingual
  readonly depth: number
  readonly group: string | null
  readonly ranks: readonly number[]
  readonly value: number | null
  readonly threshold: number | null
  readonly unit: string | null
  readonly answer: 'no' | 'unknown' | 'yes'
  readonly findings: readonly string[]
}

/** Every `every`th step takes longer than the others, all of `steps` do, by `extra_us` on average. */
export interface Pattern {
  readonly every: number
  readonly steps: readonly number[]
  readonly mean_period_us: number
  readonly other_mean_period_us: number
  readonly extra_us: number
}

/** A pause of Python's garbage collector. */
export interface Pause {
  readonly rank: number
  readonly step: number | null
  readonly slice: number
  readonly start_ns: number | string
  readonly duration_us: number
  readonly idle_us: number
}

/** The peak of one space. */
export interface Peak {
  readonly rank: number
  readonly device: string
  readonly component: string
  readonly measure: string
  readonly peak_bytes: number
  readonly peak_ns: number | string | null
  readonly peak_step: number | null
  readonly first_bytes: number
  readonly last_bytes: number
  readonly reserved_peak_bytes: number | null
  readonly capacity_bytes: number | null
  readonly headroom_bytes: number | null
}

/** A slice; `start_ns` counts from the beginning of the picture. */
export interface PictureSlice {
  readonly name: string
  readonly kind: string
  readonly row: number
  readonly start_ns: number | string
  readonly dur_ns: number | string
  readonly proves: boolean
}

/** A track with the slices that the picture shows of it. */
export interface PictureTrack {
  readonly name: string
  readonly kind: string
  readonly rows: number
  readonly slices: readonly PictureSlice[]
}

/** The input pipeline of a run. `verdict` is that of the rank that loses most. */
export interface Pipeline {
  readonly verdict: Verdict
  readonly bottleneck: string | null
  readonly verdicts: readonly Verdict[]
  readonly starving: readonly Starving[]
  readonly ops: readonly PipelineOp[]
  readonly queues: readonly QueueCurve[]
  readonly batches: readonly BatchTimes[]
}

export interface PipelineDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Pipeline
}

/** A stage of the pipeline with its output queue and its processor time. */
export interface PipelineOp {
  readonly rank: number
  readonly op: number
  readonly name: string
  readonly kind: string | null
  readonly parent: number | null
  readonly children: readonly number[]
  readonly depth: number
  readonly workers: number | null
  readonly capacity: number | null
  readonly sink: boolean
  readonly samples: number
  readonly queue_mean: number | null
  readonly use_share: number | null
  readonly use_p50_share: number | null
  readonly empty_share: number | null
  readonly full_share: number | null
  readonly starving_use_share: number | null
  readonly blame_share: number | null
  readonly cpu_cores: number | null
  readonly cpu_per_worker_share: number | null
  readonly cost_us: number | null
}

/** How the job is split, and how that is known. */
export interface Plan {
  readonly world_size: number
  readonly origin: string
  readonly confidence: string
  readonly dimensions: readonly PlanDimension[]
  readonly ranks: readonly PlanRank[]
  readonly groups: readonly PlanGroup[]
}

/** How far a job is split in one dimension, and how that is known. */
export interface PlanDimension {
  readonly dimension: string
  readonly size: number
  readonly origin: 'given' | 'inferred' | 'stated' | 'unknown'
  readonly confidence: 'given' | 'guess' | 'likely' | 'stated' | 'unknown'
  readonly reason: string
}

/** Ranks that differ in one dimension only; `ids` are what calls carry, as far as that is known. */
export interface PlanGroup {
  readonly dimension: string
  readonly ids: readonly string[]
  readonly ranks: readonly number[]
}

/** A captured rank; a coordinate is null where it is not known. */
export interface PlanRank {
  readonly rank: number
  readonly host: string | null
  readonly device_index: number | null
  readonly dp: number | null
  readonly tp: number | null
  readonly pp: number | null
  readonly ep: number | null
  readonly cp: number | null
}

/** Sizes such as `tp=8,pp=4` (`auto` forgets what was given), or the ranks of each group by dimension. */
export interface PlanRequest {
  readonly parallel?: string | null
  readonly groups?: Readonly<Record<string, readonly (readonly number[])[]>> | null
}

export interface PmuValue {
  readonly metric: string
  readonly value: number | null
}

/** A whole space from step to step, and how much of its growth the sites explain. */
export interface Pool {
  readonly rank: number
  readonly device: string
  readonly pool: string
  readonly verdict: string
  readonly steps: number
  readonly bytes_per_step: number
  readonly explained_bytes_per_step: number
  readonly unexplained_bytes_per_step: number
  readonly reserved_bytes_per_step: number | null
  readonly growth_bytes: number
  readonly bytes_at_end: number
}

/** Where to see it: slices, or a range of the rank's time, and the page that shows them. */
export interface Proof {
  readonly rank: number
  readonly page: 'cluster' | 'communication' | 'cpu' | 'data' | 'memory' | 'operators' | 'steps' | 'timeline'
  readonly slices?: readonly number[]
  readonly start_ns?: number | string | null
  readonly end_ns?: number | string | null
}

/** A stretch of a rank's time; the proof lies between `proof_start_ns` and `proof_end_ns` of it. `start_ns` is on the rank's own clock, `at_ns` counts from its first slice. */
export interface ProofPicture {
  readonly finding: string
  readonly rank: number
  readonly steps: readonly number[]
  readonly start_ns: number | string
  readonly at_ns: number | string
  readonly dur_ns: number | string
  readonly proof_start_ns: number | string
  readonly proof_end_ns: number | string
  readonly tracks: readonly PictureTrack[]
  readonly slices_left_out: number
}

export interface QueryToSave {
  readonly name: string
  readonly query: string
}

/** A question in one sentence, what can be chosen, and what its fields mean. */
export interface QuestionInfo {
  readonly name: string
  readonly en: string
  readonly zh: string
  readonly by_step: boolean
  readonly parameters: readonly string[]
  readonly choices: readonly ParameterInfo[]
  readonly fields: readonly FieldMeaning[]
}

/** How many launched slices waited for a stream, weighted by time from its first launch to its last start. */
export interface Queue {
  readonly rank: number
  readonly track: number
  readonly stream: string
  readonly launches: number
  readonly changes: number
  readonly length_mean: number
  readonly length_max: number
  readonly empty_share: number
  readonly full_us: number
  readonly full_share: number
  readonly outstanding_mean: number
  readonly outstanding_max: number
}

/** Fill of an output queue over time; the extremes of every stretch are kept. */
export interface QueueCurve {
  readonly rank: number
  readonly op: number
  readonly name: string
  readonly capacity: number | null
  readonly time_ns: readonly (number | string)[]
  readonly queue: readonly number[]
}

export interface RangeGap {
  readonly rank: number
  readonly at_ns: number
  readonly dur_ns: number
  readonly before: SliceBrief | null
  readonly after: SliceBrief | null
}

export interface RangeGaps {
  readonly count: number
  readonly total_ns: number
  readonly largest: readonly RangeGap[]
}

/** `busy_ns` is the union over a rank's rows, summed over ranks: nothing in it counts twice. */
export interface RangeStats {
  readonly from_ns: number
  readonly to_ns: number
  readonly slices: number
  readonly total_ns: number
  readonly busy_ns: number
  readonly entries: readonly StatsEntry[]
  readonly entries_total: number
  readonly gaps: RangeGaps
}

/** An activity in the counted steps of a rank. */
export interface RankActivity {
  readonly rank: number
  readonly activity: string
  readonly idle_us: number
}

export interface RankFacts {
  readonly rank: number
  readonly host: string | null
  readonly device_kind: string | null
  readonly device_name: string | null
  readonly framework: string | null
  readonly level: string | null
  readonly dp: number | null
  readonly tp: number | null
  readonly pp: number | null
  readonly ep: number | null
  readonly cp: number | null
  readonly first_at_ns: number | null
  readonly last_at_ns: number | null
  readonly clock_offset_ns: string
  readonly source: string | null
}

/** One rank: over its steps without warm-up, or over all that was recorded where there are no steps. */
export interface RankFlops {
  readonly rank: number
  readonly device: string | null
  readonly peak_origin: string | null
  readonly peaks_flops_per_s: Readonly<Record<string, number>>
  readonly memory_bytes_per_s: number | null
  readonly duration_us: number | null
  readonly flops: number
  readonly model_flops: number
  readonly flops_per_s: number | null
  readonly model_flops_per_s: number | null
  readonly mfu_share: number | null
  readonly hfu_share: number | null
  readonly counted_share: number | null
  readonly tensor_core_share: number | null
}

/** The counted steps of a rank together: sums of idle time, medians of what each step says of its launches. */
export interface RankLaunches {
  readonly rank: number
  readonly idle_us: number
  readonly idle_share: number
  readonly cause: string
  readonly latency_median_us: number | null
  readonly host_bound_share: number | null
  readonly bound: string | null
}

/** One rank; times are means over its counted steps, null is what the capture cannot tell. */
export interface RankRow {
  readonly rank: number
  readonly host: string | null
  readonly device_kind: string | null
  readonly device_name: string | null
  readonly device_index: number | null
  readonly dp: number | null
  readonly tp: number | null
  readonly pp: number | null
  readonly ep: number | null
  readonly cp: number | null
  readonly steps: number
  readonly flops: number | null
  readonly flops_per_s: number | null
  readonly peak_memory_bytes: number | null
  readonly memory_capacity_bytes: number | null
  readonly expert_tokens: number | null
  readonly deviation_share: number | null
  readonly outliers: readonly string[]
  readonly period_us: number | null
  readonly computing_us: number | null
  readonly exposed_communication_us: number | null
  readonly exposed_copy_us: number | null
  readonly idle_us: number | null
  readonly overlap_us: number | null
  readonly interval_us: number | null
  readonly forward_backward_us: number | null
  readonly tail_us: number | null
  readonly communication_us: number | null
  readonly overlapped_us: number | null
  readonly receive_alone_us: number | null
  readonly collective_alone_us: number | null
  readonly bubble_us: number | null
  readonly stage_us: number | null
  readonly wait_us: number | null
  readonly pipeline_wait_us: number | null
  readonly caused_wait_us: number | null
  readonly delay_us: number | null
}

/** How far one rank alone explains the slowdown. */
export interface RankSlowdown {
  readonly rank: number
  readonly dp: number | null
  readonly stage: number | null
  readonly slowdown: number
}

/** The mean of the counted steps of a rank, whose parts add up to its period, and how periods are spread. */
export interface RankSummary {
  readonly rank: number
  readonly host: string | null
  readonly device_kind: string | null
  readonly device_name: string | null
  readonly steps: number
  readonly period_median_us: number
  readonly period_p95_us: number
  readonly period_max_us: number
  readonly pattern: Pattern | null
  readonly before_window_us: number
  readonly profiler_overhead_us: number
  readonly statistics: StepStatistics
  readonly window: WholeWindow | null
  readonly period_us: number
  readonly idle_us: number | null
  readonly idle_by_cause: IdleByCause | null
  readonly overlap_us: number | null
  readonly duration_us: number
  readonly interval_us: number | null
  readonly forward_backward_us: number | null
  readonly tail_us: number | null
  readonly device_span_us: number | null
  readonly computing_us: number | null
  readonly pure_computing_us: number | null
  readonly communication_us: number | null
  readonly overlapped_us: number | null
  readonly exposed_communication_us: number | null
  readonly receive_alone_us: number | null
  readonly collective_alone_us: number | null
  readonly exposed_copy_us: number | null
  readonly free_us: number | null
  readonly enclosing_us: number | null
  readonly preparing_us: number | null
  readonly bubble_us: number | null
  readonly stage_us: number | null
}

/** All calls of one rank; `wait_us` and `transit_us` add up to `total_us` where waiting is known. */
export interface RankTimes {
  readonly rank: number
  readonly count: number
  readonly total_us: number | null
  readonly transit_us: number | null
  readonly wait_us: number | null
  readonly overlapped_us: number | null
  readonly bytes: number | null
}

export interface RankTracks {
  readonly rank: number
  readonly host: string | null
  readonly device_kind: string | null
  readonly device_name: string | null
  readonly clock_offset_ns: string
  readonly clock_error_ns: number | null
  readonly first_at_ns: number | null
  readonly last_at_ns: number | null
  readonly rows: number
  readonly slices: number
  readonly has_lanes: boolean
  readonly groups: readonly TrackGroup[]
  readonly links: Readonly<Record<string, number>>
  readonly steps: readonly StepMark[]
  readonly names: readonly string[]
  readonly names_total: number
}

/** The ranks asked for, in the order asked for. */
export interface Ranks {
  readonly ranks: readonly RankRow[]
}

export interface RanksDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Ranks
}

export interface ReadProgress {
  readonly done_bytes: number
  readonly total_bytes: number
}

/** Why the sides cannot be compared, or what to keep in mind. */
export interface Reason {
  readonly code: string
  readonly sentence: Bilingual
}

export interface RowHits {
  readonly rank: number
  readonly track: number
  readonly row: number
  readonly count: number
}

/** Rows of a rank; all of them where neither end is said. */
export interface RowsRequest {
  readonly rank: number
  readonly first_row?: number | null
  readonly last_row?: number | null
  readonly shift_ns?: number
}

/** A run that was read. `tables` counts rows, so that a page knows what was not collected. */
export interface RunDetails {
  readonly summary: RunSummary
  readonly windows: readonly string[]
  readonly origin_ns: string
  readonly end_at_ns: number
  readonly rank_list: readonly RankFacts[]
  readonly step_list: readonly number[]
  readonly tables: Readonly<Record<string, number>>
  readonly readers: readonly string[]
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly analyses: readonly string[]
}

/** What every document says about its run. */
export interface RunHead {
  readonly path: string
  readonly paths: readonly string[]
  readonly window: string
  readonly windows: readonly string[]
  readonly ranks: readonly number[]
  readonly readers: readonly string[]
  readonly schema_version: number
}

/** `revision` changes whenever anything here does. */
export interface RunList {
  readonly revision: number
  readonly roots: readonly string[]
  readonly max_upload_bytes: number
  readonly runs: readonly RunSummary[]
}

/** One line of the list of runs; what only a run that was read can tell is null before. */
export interface RunSummary {
  readonly id: string
  readonly name: string
  readonly path: string
  readonly window: string | null
  readonly state: string
  readonly progress: ReadProgress
  readonly error: Fault | null
  readonly uploaded: boolean
  readonly verdict: VerdictLine | null
  readonly label: string | null
  readonly tags: readonly string[]
  readonly ranks?: number | null
  readonly steps?: number | null
  readonly slices?: number | null
  readonly duration_ns?: number | null
  readonly devices?: readonly string[] | null
  readonly frameworks?: readonly string[] | null
  readonly notes?: number | null
  readonly version?: string | null
  readonly recorded_ns?: string | null
  readonly source_bytes?: number | null
  readonly device_names?: readonly string[] | null
}

/** The run in one sentence: its most important finding, or that it is healthy as far as it was checked. */
export interface RunVerdict {
  readonly severity: 'critical' | 'healthy' | 'info' | 'warning'
  readonly sentence: Bilingual
  readonly finding: string | null
  readonly checked: readonly string[]
}

/** All slices of this name on this rank: their durations, and how many of them are shorter than this one. `histogram` counts them in bins of equal width from the shortest to the longest. */
export interface SameName {
  readonly count: number
  readonly total_ns: number
  readonly min_ns: number
  readonly median_ns: number
  readonly max_ns: number
  readonly shorter: number
  readonly histogram: readonly number[]
}

/** A query under a name. */
export interface SavedQuery {
  readonly name: string
  readonly query: string
}

/** A page with the parameters of its address, under a name. */
export interface SavedView {
  readonly name: string
  readonly page: string
  readonly params: Readonly<Record<string, string>>
}

export interface SearchResult {
  readonly total: number
  readonly names: readonly NameHits[]
  readonly names_total: number
  readonly rows: readonly RowHits[]
  readonly ticks: readonly number[]
  readonly hits: readonly SliceBrief[]
  readonly position: number | null
  readonly next: SliceBrief | null
  readonly previous: SliceBrief | null
}

/** A sentence of the catalogue with its values put in. */
export interface Sentence {
  readonly key: string
  readonly en: string
  readonly zh: string
}

/** The occurrences with inputs of one shape. */
export interface ShapeShare {
  readonly input_shapes: string | null
  readonly dtypes: string | null
  readonly count: number
  readonly total_us: number
  readonly avg_us: number
  readonly share: number | null
}

/** One place that allocates, and whether it leaks. */
export interface Site {
  readonly rank: number
  readonly device: string
  readonly pool: string
  readonly site: string
  readonly operator: string | null
  readonly verdict: string
  readonly confidence: string
  readonly reason: string
  readonly reason_values: Readonly<Record<string, string>>
  readonly bytes_per_step: number
  readonly r_squared: number | null
  readonly growth_bytes: number
  readonly growth_share: number | null
  readonly bytes_at_end: number
  readonly blocks: number
  readonly first_step: number | null
  readonly oldest_age_steps: number | null
  readonly intervals: number
  readonly in_step_blocks: number
  readonly category: string | null
  readonly steps_to_oom: number | null
  readonly leaking_ranks: readonly number[]
  readonly graph: number | null
  readonly births: readonly Birth[]
  readonly stack: string | null
}

/** A site whose allocations differ between two steps. */
export interface SiteDifference {
  readonly site: string
  readonly operator: string | null
  readonly verdict: string
  readonly base_blocks: number
  readonly blocks: number
  readonly base_bytes: number
  readonly bytes: number
  readonly delta_bytes: number
  readonly base_net_bytes: number
  readonly net_bytes: number
  readonly stack: string | null
}

/** `row` counts the rows of the rank, `at_ns` nanoseconds since the run's origin. */
export interface SliceBrief {
  readonly rank: number
  readonly slice: number
  readonly name: string
  readonly kind: string
  readonly track: number
  readonly row: number
  readonly at_ns: number
  readonly dur_ns: number
}

export interface SliceChildren {
  readonly total: number
  readonly slices: readonly SliceBrief[]
}

/** `step_share` is the slice's duration as a part of its step's period. */
export interface SliceDetails {
  readonly rank: number
  readonly slice: number
  readonly name: string
  readonly kind: string
  readonly track: number
  readonly row: number
  readonly depth: number
  readonly at_ns: number
  readonly end_at_ns: number
  readonly dur_ns: number
  readonly self_ns: number
  readonly start_ns: string
  readonly step: number | null
  readonly step_share: number | null
  readonly phase: string | null
  readonly stream: number | null
  readonly correlation: number | null
  readonly operator: string | null
  readonly type: string | null
  readonly core: string | null
  readonly module: string | null
  readonly input_shapes: string | null
  readonly output_shapes: string | null
  readonly dtypes: string | null
  readonly formats: string | null
  readonly bytes: number | null
  readonly group: string | null
  readonly arguments: readonly (readonly [string, unknown])[]
  readonly arguments_text: string | null
  readonly stack: readonly string[]
  readonly pmu: readonly PmuValue[]
  readonly parents: readonly SliceBrief[]
  readonly children: SliceChildren
  readonly links: readonly SliceLink[]
  readonly links_total: number
  readonly previous_in_row: SliceBrief | null
  readonly next_in_row: SliceBrief | null
  readonly previous_same_name: SliceBrief | null
  readonly next_same_name: SliceBrief | null
  readonly same_name: SameName
}

/** `direction` is out where the slice is the cause, in where it is the effect. */
export interface SliceLink {
  readonly kind: string
  readonly direction: string
  readonly other: SliceBrief
}

export interface SliceRequest {
  readonly rank: number
  readonly slice: number
}

export interface SlicesRequest {
  readonly slices: readonly SliceRequest[]
}

/** Measured against ideal step. */
export interface Slowdown {
  readonly total: number
  readonly straggling: boolean
  readonly measured_us: number
  readonly replayed_us: number
  readonly ideal_us: number
  readonly replay_error_share: number
  readonly by_dimension: readonly DimensionSlowdown[]
  readonly by_stage: readonly StageSlowdown[]
  readonly by_rank: readonly RankSlowdown[]
  readonly by_operation: readonly OperationSlowdown[]
  readonly worst_ranks: readonly number[]
  readonly worst_ranks_share: number | null
  readonly last_stage_share: number | null
}

/** One field over the typical steps of a rank. */
export interface Spread {
  readonly field: string
  readonly median: number
  readonly p95: number
  readonly mean: number
  readonly minimum: number
  readonly maximum: number
}

export interface SqlColumn {
  readonly name: string
  readonly type: string
}

/** `truncated` says that there were more rows, or more bytes, than the limit. */
export interface SqlDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly Readonly<Record<string, unknown>>[]
  readonly columns: readonly SqlColumn[]
  readonly truncated: boolean
}

export interface SqlRequest {
  readonly query: string
  readonly limit?: number
}

/** The slowdown if only one stage kept its durations. */
export interface StageSlowdown {
  readonly stage: number
  readonly slowdown: number
}

/** Which steps (or batches, where steps are unknown) had to wait for data. */
export interface Starving {
  readonly rank: number
  readonly unit: 'batch' | 'step'
  readonly counted: number
  readonly count: number
  readonly share: number | null
  readonly settled_share: number | null
  readonly which: readonly number[]
}

/** Launch statistics of one step. */
export interface Statistics {
  readonly rank: number
  readonly step: number
  readonly launches: number
  readonly short_kernels: number
  readonly long_calls: number
  readonly delayed: number
  readonly call_us: number
  readonly kernel_us: number
}

/** Fields that the grouping does not tell apart are null. */
export interface StatsEntry {
  readonly name: string | null
  readonly kind: string | null
  readonly rank: number | null
  readonly track: number | null
  readonly count: number
  readonly total_ns: number
  readonly self_ns: number
  readonly share: number
  readonly avg_ns: number
  readonly min_ns: number
  readonly p50_ns: number
  readonly p95_ns: number
  readonly max_ns: number
}

export interface StatsRequest {
  readonly from_ns: number
  readonly to_ns: number
  readonly rows: readonly RowsRequest[]
  readonly by?: 'name' | 'kind' | 'track'
  readonly limit?: number
  readonly gaps_over_ns?: number | null
  readonly gaps_limit?: number
}

/** One step of one rank; null is what the capture cannot tell. */
export interface Step {
  readonly rank: number
  readonly step: number
  readonly start_ns: number | string | null
  readonly period_start_ns: number | string | null
  readonly warm_up: boolean
  readonly incomplete: boolean
  readonly mode: string
  readonly period_us: number
  readonly idle_us: number | null
  readonly idle_by_cause: IdleByCause | null
  readonly overlap_us: number | null
  readonly duration_us: number
  readonly interval_us: number | null
  readonly forward_backward_us: number | null
  readonly tail_us: number | null
  readonly device_span_us: number | null
  readonly computing_us: number | null
  readonly pure_computing_us: number | null
  readonly communication_us: number | null
  readonly overlapped_us: number | null
  readonly exposed_communication_us: number | null
  readonly receive_alone_us: number | null
  readonly collective_alone_us: number | null
  readonly exposed_copy_us: number | null
  readonly free_us: number | null
  readonly enclosing_us: number | null
  readonly preparing_us: number | null
  readonly bubble_us: number | null
  readonly stage_us: number | null
}

/** What a step took and gave back. */
export interface StepBalance {
  readonly step: number
  readonly allocations: number
  readonly allocated_bytes: number
  readonly freed_bytes: number
  readonly net_bytes: number
  readonly peak_bytes: number
  readonly min_bytes: number
  readonly min_max_share: number | null
  readonly survivors: number
  readonly survivor_bytes: number
}

/** Two steps side by side. */
export interface StepDifference {
  readonly base_step: number
  readonly step: number
  readonly base_bytes: number
  readonly bytes: number
  readonly base_net_bytes: number
  readonly net_bytes: number
  readonly base_peak_bytes: number
  readonly peak_bytes: number
  readonly delta_bytes: number
  readonly net_delta_bytes: number
  readonly same_sites: number
  readonly sites: readonly SiteDifference[]
}

/** One step of one rank. */
export interface StepFlops {
  readonly rank: number
  readonly step: number
  readonly duration_us: number
  readonly flops: number
  readonly model_flops: number
  readonly flops_per_s: number | null
  readonly model_flops_per_s: number | null
  readonly mfu_share: number | null
  readonly hfu_share: number | null
  readonly warm_up: boolean
}

/** Launches of one step. Latency is counted once per call, for the first slice that it launched. */
export interface StepLaunches {
  readonly rank: number
  readonly step: number
  readonly launches: number
  readonly kernels: number
  readonly latency_median_us: number | null
  readonly latency_p95_us: number | null
  readonly latency_max_us: number | null
  readonly latency_slope: number | null
  readonly host_bound_share: number | null
  readonly bound: string | null
  readonly queue_mean: number | null
  readonly queue_max: number | null
  readonly warm_up: boolean
}

/** A step's window on the host, that of its device work, and its period, which all shares are of. */
export interface StepMark {
  readonly step: number
  readonly at_ns: number
  readonly dur_ns: number
  readonly device_at_ns: number | null
  readonly device_dur_ns: number | null
  readonly period_at_ns: number | null
  readonly period_dur_ns: number | null
  readonly warm_up: boolean
  readonly incomplete: boolean
}

/** The counted steps in their order; a side that has fewer is null. Over ranks the mean. */
export interface StepPair {
  readonly position: number
  readonly a_step: number | null
  readonly b_step: number | null
  readonly a_us: number | null
  readonly b_us: number | null
  readonly delta_us: number | null
}

/** The occurrences of one step. */
export interface StepShare {
  readonly step: number
  readonly count: number
  readonly total_us: number
}

/** The steps of one rank. `mode` is that of the steps counted: training where there are any. */
export interface StepStatistics {
  readonly rank: number
  readonly mode: string
  readonly counted: number
  readonly warm_up_steps: readonly number[]
  readonly incomplete_steps: readonly number[]
  readonly other_mode_steps: readonly number[]
  readonly outlier_steps: readonly number[]
  readonly pattern: Pattern | null
  readonly spreads: readonly Spread[]
}

export interface StepsDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: readonly Step[]
  readonly statistics: readonly StepStatistics[]
}

/** One reason for the difference; all of them add up to it exactly. Without a name: the rest of its part. */
export interface StepscopeCompareComparisonExplanation {
  readonly part: string
  readonly name: string | null
  readonly label: Bilingual
  readonly a_us: number
  readonly b_us: number
  readonly delta_us: number
  readonly share_of_change: number | null
  readonly significant: boolean
  readonly rows: number
}

/** One field of one question, for a run. `sql` lists the slices it is made of. */
export interface StepscopeQuestionsExplainExplanation {
  readonly field: string
  readonly unit: string | null
  readonly meaning: Readonly<Record<string, string>>
  readonly formula: string
  readonly sources: readonly string[]
  readonly sql: string | null
  readonly ours: readonly OurValue[]
  readonly vendor: readonly VendorValue[]
}

/** A run at a glance. */
export interface Summary {
  readonly ranks: readonly RankSummary[]
  readonly delimitation: Parts | null
}

export interface SummaryDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: Summary
}

/** Calls in which the host waited for the device, by name. */
export interface Sync {
  readonly rank: number
  readonly step: number | null
  readonly name: string
  readonly count: number
  readonly total_us: number
  readonly max_us: number
  readonly idle_us: number
}

export interface TableColumn {
  readonly name: string
  readonly type: string
  readonly meaning: string
}

export interface TableInfo {
  readonly name: string
  readonly meaning: string
  readonly rows: number
  readonly columns: readonly TableColumn[]
}

export interface TileRequest {
  readonly rank: number
  readonly block: number
  readonly level: number
  readonly index: number
}

export interface TilesRequest {
  readonly tiles: readonly TileRequest[]
}

/** `busy_ns` is of its busiest row, annotations apart; a quiet track has next to nothing to show. `stored_track` is its number in the table of slices: Python frames are stored with their thread. */
export interface Track {
  readonly track: number
  readonly stored_track: number
  readonly kind: string
  readonly name: string
  readonly thread: string | null
  readonly first_row: number
  readonly rows: number
  readonly slices: number
  readonly kinds: readonly number[]
  readonly busy_ns: number
  readonly quiet: boolean
  readonly counter: CounterSpan | null
}

/** Tracks of one process or device that follow each other. */
export interface TrackGroup {
  readonly name: string
  readonly kind: string
  readonly tracks: readonly Track[]
}

export interface Tracks {
  readonly version: string
  readonly origin_ns: string
  readonly end_at_ns: number
  readonly kinds: readonly string[]
  readonly lanes: readonly string[]
  readonly idle_causes: readonly string[]
  readonly ranks: readonly RankTracks[]
}

/** All that moved over one kind of link. */
export interface Transport {
  readonly transport: string | null
  readonly links: number
  readonly bytes: number
  readonly time_us: number
  readonly gb_per_s: number | null
  readonly packets: number | null
  readonly slowest_gb_per_s: number | null
  readonly slowest_rank: number | null
  readonly slowest_peer: number | null
}

/** A call that some captured members never joined, although they recorded that step, or all calls to the end. */
export interface Unjoined {
  readonly group: string | null
  readonly kind: string | null
  readonly step: number | null
  readonly seq: number | null
  readonly joined: readonly number[]
  readonly missing: readonly number[]
  readonly start_ns: number | string
}

/** What a vendor's own file says. */
export interface VendorValue {
  readonly rank: number
  readonly step: number | null
  readonly key: string | null
  readonly file: string
  readonly value: number
}

/** What holds a rank's training up, as far as data are concerned. */
export interface Verdict {
  readonly rank: number
  readonly mode: 'feed' | 'sink' | 'unknown'
  readonly bound: 'getnext' | 'none' | 'pipeline' | 'transfer' | 'unknown' | 'user_code'
  readonly certain: boolean
  readonly rule: string | null
  readonly rules: readonly string[]
  readonly op: number | null
  readonly op_name: string | null
  readonly why: readonly Sentence[]
  readonly advice: readonly Sentence[]
  readonly period_us: number | null
  readonly wait_share: number | null
  readonly interval_us: number | null
  readonly interval_share: number | null
  readonly potential_speedup: number | null
  readonly limited_by: string | null
  readonly evidence: readonly Evidence[]
}

/** What the kept diagnosis of a run says; `findings` counts those that accuse. */
export interface VerdictLine {
  readonly severity: string
  readonly sentence: string
  readonly findings: number
  readonly period_us: number | null
}

export interface ViewToSave {
  readonly name: string
  readonly page: string
  readonly params: Readonly<Record<string, string>>
}

/** What one rank waited for another, as far as it goes back to one rank. */
export interface Wait {
  readonly rank: number
  readonly blames: number
  readonly root: number
  readonly wait_us: number
  readonly calls: number
}

/** Means over the counted steps of the chosen ranks. */
export interface WhatIf {
  readonly changes: readonly AppliedChange[]
  readonly period_us: number
  readonly changed_us: number
  readonly gain_us: number
  readonly gain_share: number
  readonly replay_error_share: number
  readonly unexplained_share: number
  readonly ranks_joined: boolean
  readonly steps: readonly WhatIfStep[]
}

/** One step of one rank: as recorded, as replayed without a change, and with the changes. */
export interface WhatIfStep {
  readonly rank: number
  readonly step: number
  readonly counted: boolean
  readonly period_us: number
  readonly replayed_us: number
  readonly changed_us: number
}

export interface WhatifDocument {
  readonly schema: string
  readonly run: RunHead
  readonly notes: readonly NoteEntry[]
  readonly note_groups: readonly NoteGroupEntry[]
  readonly data: WhatIf
}

/** The culprit, as far as it has a name. */
export interface Where {
  readonly host?: string | null
  readonly link?: string | null
  readonly stage?: number | null
  readonly group?: string | null
  readonly operator?: string | null
  readonly pipeline_op?: string | null
  readonly site?: string | null
  readonly device?: string | null
}

/** All device work of a rank at once, from its first to its last, whatever step it belongs to. */
export interface WholeWindow {
  readonly span_us: number
  readonly busy_us: number
  readonly computing_us: number
  readonly exposed_communication_us: number
  readonly exposed_copy_us: number
  readonly free_us: number
}
