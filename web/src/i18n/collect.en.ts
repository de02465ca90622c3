// What a page without data says.
import type { collectZh } from './collect.zh'

export const collectEn: Record<keyof typeof collectZh, string> = {
  'collect.timeline': 'This capture holds no events and no counters, so there is no timeline.',
  'collect.steps':
    'This capture does not mark where steps begin and end. Call profiler.step() once per iteration of the training loop.',
  'collect.operators': 'This capture holds no operators and no kernels.',
  'collect.memory':
    'Memory was not recorded in this capture. Curves, owners of the peak and leak detection need every allocation and release.',
  'collect.data':
    'The input pipeline was not recorded in this capture. Whether training waits for data is seen from how full the pipeline’s queues are and how long it takes to get each batch.',
  'collect.cluster':
    'This capture holds no communication between ranks, so there is no cluster to show. Record on every rank of the job with the device, each into its own file, and open the folder that contains them all. On Ascend, profiler_level Level1 also records transfers between ranks.',
  'collect.communication':
    'This capture holds no communication between ranks: the job may use one card, or device activity was not recorded. Record on every rank with the device, each into its own file, and open the folder that contains them all. On Ascend, profiler_level Level1 also records transfers between ranks.',
  'collect.compare':
    'This capture does not mark where steps begin and end, so steps cannot be compared. Call profiler.step() once per iteration of the training loop.',
  'collect.cpu': 'CPU use was not recorded in this capture.',
}
