// 页面没有数据时的说明。
export const collectZh = {
  'collect.timeline': '这次采集里没有任何事件或计数器，因此没有时间线。',
  'collect.steps': '这次采集没有标出迭代的边界。请在训练循环中每个迭代调用一次 profiler.step()。',
  'collect.operators': '这次采集没有算子和 kernel。',
  'collect.memory': '这次采集没有记录内存。内存曲线、峰值归属和泄漏检测需要内存申请与释放的记录。',
  'collect.data': '这次采集没有记录数据管道。判断训练是否在等数据，需要管道各级队列的占用和每个 batch 的取数时间。',
  'collect.cluster':
    '这次采集里没有 rank 之间的通信，因此没有集群数据。请在任务的每个 rank 上同时采集设备活动，各自写入一个文件，再打开包含全部文件的目录。昇腾请用 profiler_level Level1，以记录 rank 之间的传输。',
  'collect.communication':
    '这次采集没有 rank 之间的通信：可能只用了一张卡，或采集时没有记录设备活动。请在任务的每个 rank 上采集设备活动，各写一个文件，再打开包含全部文件的目录；昇腾上 profiler_level Level1 还会记录 rank 之间的传输。',
  'collect.compare': '这次采集没有标出迭代的边界，无法逐迭代对比。请在训练循环中每个迭代调用一次 profiler.step()。',
  'collect.cpu': '这次采集没有记录 CPU 利用率。',
} as const
