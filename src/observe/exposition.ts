// observe: metrics in the text format of Prometheus (version 0.0.4).
import { Distribution, type Tally } from './accumulators.ts'

interface Cell {
  readonly values: readonly string[]
  readonly cell: Readonly<Tally> | Distribution
}

/** Where the numbers of a metric are, with the values of their labels. */
interface Source {
  all(): Iterable<Cell> | Promise<Iterable<Cell>>
}

export type Metric = ReturnType<ReturnType<typeof metric>>

const metric =
  (type: 'counter' | 'gauge' | 'histogram') =>
  (name: string, labels: readonly string[], source: Source, help: string) => ({ type, name, labels, source, help })

export const counter = metric('counter')
export const gauge = metric('gauge')
export const histogram = metric('histogram')

const escaped = (text: string) => text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)

export async function expositionOf({ type, name, labels, source, help }: Metric): Promise<string> {
  const full = `actorflux_${name}`
  let text = `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n`
  const add = (suffix: string, pairs: readonly string[], value: number) => {
    text += `${full}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
  }
  for (const { values, cell } of await source.all()) {
    const pairs = labels.map((label, at) => `${label}="${escaped(values[at] ?? '')}"`)
    if (cell instanceof Distribution) {
      // Each bucket has the values of the lower ones, too.
      let count = 0
      for (const [place, own] of cell.counts.entries()) {
        count += own
        add('_bucket', [...pairs, `le="${cell.bounds[place] ?? '+Inf'}"`], count)
      }
      add('_sum', pairs, cell.sum)
      add('_count', pairs, count)
    } else add('', pairs, cell.value)
  }
  return `${text}\n`
}
