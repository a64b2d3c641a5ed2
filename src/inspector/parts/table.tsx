// inspector/parts: a table by its columns. On a phone each row is a few lines, and labelled cells tell what they are.
import type { Child, FC } from 'hono/jsx'

export interface Column<Row> {
  readonly head: string
  /** Shown instead of the head. */
  readonly control?: Child
  /** Only screen readers tell the head. */
  readonly isSilent?: boolean
  /** Aligned right. */
  readonly isNumber?: boolean
  /** Whether the head stands before the cell on a phone, too. */
  readonly isLabelled?: boolean
  /** Of the cells. */
  readonly class?: string
  /** An empty text: nothing is shown. */
  readonly cell: (row: Row) => Child
}

export interface TableFacts<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Unique on the page: a row that changes glows, and is found again. Left out: rows have none. */
  readonly idOf?: (row: Row) => string
  /** Name of the live part that the rows are. A list is not moved under the pointer. */
  readonly part?: string
}

export function Table<Row>({ columns, rows, idOf, part }: TableFacts<Row>) {
  return (
    <div class="scroll">
      <table class="list">
        <thead>
          <tr>
            {columns.map(({ head, control, isSilent = false, isNumber = false }) => (
              <th scope="col" class={isNumber ? 'num' : undefined}>
                {control ?? (isSilent ? <span class="hidden">{head}</span> : head)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody data-part={part} data-rows={part === undefined ? undefined : 'yes'}>
          {rows.map((row) => (
            <tr data-row id={idOf?.(row)}>
              {columns.map((column) => (
                <Cell column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  const { head, isNumber = false, isLabelled = false, cell } = column
  const classes = [isNumber && 'num', column.class].filter(Boolean).join(' ')
  return (
    <td class={classes === '' ? undefined : classes} data-name={isLabelled ? head : undefined}>
      {cell(row)}
    </td>
  )
}

/** Leads to the next page of a table. Null: this is the last. */
export const Older: FC<{ readonly next: string | null }> = ({ next }) =>
  next === null ? null : (
    <p>
      <a class="button" href={next} rel="next">
        Older
      </a>
    </p>
  )
