// inspector/parts: a table by its columns. On a phone each row is a few lines, and labelled cells tell what they are.
import type { Child } from 'hono/jsx'
import { contextHref, serviceLink, type ServiceName } from './links.tsx'
import { When } from './time.tsx'

export interface Column<Row> {
  readonly head: string
  /** Shown instead of the head. */
  readonly control?: Child
  /** Aligned right. */
  readonly isNumber?: boolean
  /** Whether the head stands before the cell on a phone, too. */
  readonly isLabelled?: boolean
  /** Class of the cells. */
  readonly class?: string
  /** An empty text: nothing is shown. */
  readonly cell: (row: Row) => Child
}

/** A column that is aligned right, with its head before the cell on a phone. */
export const numbers = <Row,>(head: string, cell: Column<Row>['cell']): Column<Row> => ({
  head,
  isNumber: true,
  isLabelled: true,
  cell,
})

/** A column of counts. */
export const figures = <Row,>(head: string, countOf: (row: Row) => number) =>
  numbers<Row>(head, (row) => countOf(row).toLocaleString('en'))

/** A column of times from now; null: none. */
export const times = <Row,>(head: string, timeOf: (row: Row) => number | null) =>
  numbers<Row>(head, (row) => {
    const at = timeOf(row)
    return at === null ? '' : <When at={at} />
  })

/** A column of services. */
export const SERVICE: Column<ServiceName> = { head: 'service', cell: serviceLink }

/** A column of contexts. Where keys choose a row, that is what opens. */
export const contextIds = <Row,>(idOf: (row: Row) => number): Column<Row> => ({
  head: 'id',
  isNumber: true,
  class: 'mono',
  cell: (row) => (
    <a href={contextHref(idOf(row))} data-open>
      {idOf(row)}
    </a>
  ),
})

interface TableProps<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Unique on the page: a row that changes glows, and is found again. Left out: rows have none. */
  readonly idOf?: (row: Row) => string
  /** Name of the live part that the rows are. A list is not moved under the pointer. */
  readonly part?: string
  /** Address of the next page; null: this is the last. */
  readonly next?: string | null
  /** Shown where there are no rows. */
  readonly empty?: Child
}

export function Table<Row>({ columns, rows, idOf, part, next = null, empty = null }: TableProps<Row>) {
  return (
    <>
      {rows.length === 0 && empty !== null ? (
        empty
      ) : (
        <div class="scroll">
          <table class="list">
            <thead>
              <tr>
                {columns.map(({ head, control, isNumber }) => (
                  <th scope="col" class={isNumber ? 'num' : undefined}>
                    {control ?? head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody data-part={part}>
              {rows.map((row) => (
                <tr data-row id={idOf?.(row)}>
                  {columns.map(({ head, isNumber, isLabelled, class: name = '', cell }) => (
                    <td
                      class={`${isNumber ? 'num' : ''} ${name}`.trim() || undefined}
                      data-name={isLabelled ? head : undefined}
                    >
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next !== null && (
        <p>
          <a class="button" href={next} rel="next">
            Older
          </a>
        </p>
      )}
    </>
  )
}
