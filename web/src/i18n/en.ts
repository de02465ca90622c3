// The English dictionary.
import { frameEn } from './frame.en'
import { partsEn } from './parts.en'
import { keysEn } from './keys.en'
import { collectEn } from './collect.en'
import { findingsEn } from './findings.en'
import { adviceEn } from './advice.en'
import { runsEn } from './runs.en'
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
import type { zh } from './zh'

export const en: Record<keyof typeof zh, string> = {
  ...frameEn,
  ...partsEn,
  ...keysEn,
  ...collectEn,
  ...findingsEn,
  ...adviceEn,
  ...runsEn,
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
