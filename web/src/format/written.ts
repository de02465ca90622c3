// Names that the answers spell in small letters, as those who made them write them.
const WRITTEN: Readonly<Record<string, string>> = {
  cpu: 'CPU',
  gpu: 'GPU',
  npu: 'NPU',
  pytorch: 'PyTorch',
  mindspore: 'MindSpore',
  tensorflow: 'TensorFlow',
}

export const written = (name: string): string => WRITTEN[name] ?? name
