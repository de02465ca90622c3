// 优化建议页面。
export const adviceZh = {
  'advice.lead': '全部发现：依据、改法与预计收益，按严重程度排列。',
} as const
