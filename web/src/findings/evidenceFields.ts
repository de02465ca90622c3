// Which field of which answer a number of the evidence is made of: what its explanation tells about.

/** By metric; what is no field of an answer has no entry. */
const FIELDS: Readonly<Record<string, string>> = {
  idle_share: 'steps.idle_us',
  idle_for_data_share: 'steps.idle_by_cause.data_us',
  idle_for_host_share: 'steps.idle_by_cause.host_us',
  idle_after_sync_share: 'steps.idle_by_cause.sync_us',
  idle_in_gc_share: 'steps.idle_by_cause.gc_us',
  interval_us: 'steps.interval_us',
  interval_share: 'steps.interval_us',
  exposed_communication_share: 'steps.exposed_communication_us',
  exposed_transfer_share: 'steps.exposed_communication_us',
  exposed_copy_share: 'steps.exposed_copy_us',
  computing_share: 'steps.computing_us',
  slow_rank_compute: 'steps.computing_us',
  slow_rank_data: 'steps.idle_by_cause.data_us',
  slow_rank_host: 'steps.idle_by_cause.host_us',
  stage_computing: 'steps.computing_us',
  step_mean: 'steps.period_us',
  step_usual: 'steps.period_us',
  step_longest: 'steps.period_us',
  warm_up_us: 'steps.period_us',
  waiting_of_others: 'communication.waits.wait_us',
  exposed_waiting_share: 'communication.waits.wait_us',
  packet_size: 'communication.packets.bytes',
  bubble_share: 'steps.bubble_us',
  operator_us: 'operators.total_us',
  operator_share: 'operators.share',
  leak_bytes_per_step: 'leaks.sites.bytes_per_step',
  leak_blocks: 'leaks.sites.blocks',
  leak_intervals: 'leaks.sites.intervals',
  leak_steps_to_oom: 'leaks.sites.steps_to_oom',
  peak_memory: 'memory.peak_bytes',
  oom_requested: 'memory.out_of_memory.requested_bytes',
  oom_pool_free: 'memory.out_of_memory.pool_free_bytes',
  oom_device_free: 'memory.out_of_memory.device_free_bytes',
  oom_largest_free: 'memory.out_of_memory.largest_free_bytes',
}

export function fieldOfEvidence(metric: string): string | undefined {
  return FIELDS[metric]
}
