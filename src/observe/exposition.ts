// observe: metrics in the text format of Prometheus (version 0.0.4).
import type { Distribution, Series, Tally } from './accumulators.ts'

interface Sample {
  readonly labels: { readonly [name: string]: string | number }
  readonly value: number
  /** Suffix of the name; empty if left out. */
  readonly suffix?: string
}

export interface Metric {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The numbers as they are now. */
  readonly samples: () => readonly Sample[] | Promise<readonly Sample[]>
}

const PREFIX = 'actorflux_'

const escaped = (text: string) => text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)

export async function expositionOf({ name, type, help, samples }: Metric): Promise<string> {
  const lines = (await samples()).map(({ labels, value, suffix = '' }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`)
    return `${PREFIX}${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
  })
  return `# HELP ${PREFIX}${name} ${help}\n# TYPE ${PREFIX}${name} ${type}\n${lines.join('')}\n`
}

/** The cells of a series, each with its labels. */
const labelled = <T>(series: Series<T>, names: readonly string[]) =>
  [...series.all()].map(({ values, cell }) => ({
    labels: Object.fromEntries(names.map((name, at) => [name, values[at] ?? ''])),
    cell,
  }))

export const counter = (name: string, labels: readonly string[], series: Series<Tally>, help: string): Metric => ({
  name,
  type: 'counter',
  help,
  samples: () => labelled(series, labels).map(({ cell, ...sample }) => ({ ...sample, value: cell.value })),
})

/** Each bucket has the values of the lower ones, too. */
export const histogram = (
  name: string,
  labels: readonly string[],
  series: Series<Distribution>,
  help: string,
): Metric => ({
  name,
  type: 'histogram',
  help,
  samples: () =>
    labelled(series, labels).flatMap(({ labels, cell: { bounds, counts, sum } }) => {
      let count = 0
      const buckets = Array.from(counts, (own, place) => {
        count += own
        return { suffix: '_bucket', labels: { ...labels, le: bounds[place] ?? '+Inf' }, value: count }
      })
      return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: count }]
    }),
})
