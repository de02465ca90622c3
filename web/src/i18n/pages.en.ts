// The words of all pages, which follow at once; a page waits for them. English.
import { keysEn } from './keys.en'
import { collectEn } from './collect.en'
import { findingsEn } from './findings.en'
import { adviceEn } from './advice.en'
import { timelineEn } from './timeline.en'
import { sqlEn } from './sql.en'
import { stepsEn } from './steps.en'
import { overviewEn } from './overview.en'
import { operatorsEn } from './operators.en'
import { dataEn } from './data.en'
import { memoryEn } from './memory.en'
import { cpuEn } from './cpu.en'
import { clusterEn } from './cluster.en'
import { communicationEn } from './communication.en'
import { compareEn } from './compare.en'
import type { pagesZh } from './pages.zh'

export const pagesEn: Record<keyof typeof pagesZh, string> = {
  ...keysEn,
  ...collectEn,
  ...findingsEn,
  ...adviceEn,
  ...timelineEn,
  ...sqlEn,
  ...stepsEn,
  ...overviewEn,
  ...operatorsEn,
  ...dataEn,
  ...memoryEn,
  ...cpuEn,
  ...clusterEn,
  ...communicationEn,
  ...compareEn,
}
