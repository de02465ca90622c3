// The column that says whether a difference is larger than chance explains.
import type { Column } from '../../components/table/columns'

export function significance<T extends { readonly significant: boolean }>(
  title: string,
  yes: string,
  no: string,
): Column<T> {
  return {
    id: 'significant',
    title,
    width: '84px',
    value: (row) => row.significant,
    text: (row) => (row.significant ? yes : no),
  }
}
