// 诊断结论与发现。
export const findingsZh = {
  'finding.verdict': '结论',
  'finding.critical': '严重',
  'finding.warning': '需要处理',
  'finding.info': '供参考',
  'finding.healthy': '正常',
  'finding.gain': '每个迭代最多可省 {gain}',
  'finding.baseline': '对照 {value}',
  'finding.show': '查看证据',
  'finding.more_proof': '证据 {number}',
  'finding.not_checked': '{count} 类问题未能检查',
  'finding.needs': '缺少{what}。',
  'finding.collect': '采集方法：{how}。',
} as const
