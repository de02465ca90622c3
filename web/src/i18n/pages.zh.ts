// The words of all pages, which follow at once; a page waits for them. Chinese.
import { keysZh } from './keys.zh'
import { collectZh } from './collect.zh'
import { findingsZh } from './findings.zh'
import { adviceZh } from './advice.zh'
import { timelineZh } from './timeline.zh'
import { sqlZh } from './sql.zh'
import { stepsZh } from './steps.zh'
import { overviewZh } from './overview.zh'
import { operatorsZh } from './operators.zh'
import { dataZh } from './data.zh'
import { memoryZh } from './memory.zh'
import { cpuZh } from './cpu.zh'
import { clusterZh } from './cluster.zh'
import { communicationZh } from './communication.zh'
import { compareZh } from './compare.zh'

export const pagesZh = {
  ...keysZh,
  ...collectZh,
  ...findingsZh,
  ...adviceZh,
  ...timelineZh,
  ...sqlZh,
  ...stepsZh,
  ...overviewZh,
  ...operatorsZh,
  ...dataZh,
  ...memoryZh,
  ...cpuZh,
  ...clusterZh,
  ...communicationZh,
  ...compareZh,
}
