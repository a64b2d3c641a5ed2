// observe: metrics of prom-client whose numbers are counted elsewhere, and handed over when somebody asks for them.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Distribution, Series, Tally } from './accumulators.ts'

/** What prom-client wants to know of a metric. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly labelNames: readonly string[]
  readonly registers: Registry[]
}

/** The labels with these values. */
const labelsOf = ({ labelNames }: Metric, values: readonly string[]): { [name: string]: string } =>
  Object.fromEntries(labelNames.map((name, at) => [name, values[at] ?? '']))

export const registerCounter = (metric: Metric, series: Series<Tally>) =>
  new Counter({
    ...metric,
    collect() {
      this.reset()
      for (const { values, cell } of series.all()) this.inc(labelsOf(metric, values), cell.value)
    },
  })

/** @param collect sets the values; the earlier ones are gone */
export const registerGauge = (
  metric: Metric,
  collect: (set: (values: readonly string[], value: number) => void) => void | Promise<void>,
) =>
  new Gauge({
    ...metric,
    collect() {
      this.reset()
      return collect((values, value) => this.set(labelsOf(metric, values), value))
    },
  })

export class HandedHistogram extends Histogram {
  readonly #metric: Metric
  readonly #series: Series<Distribution>

  constructor(metric: Metric, series: Series<Distribution>) {
    super(metric)
    this.#metric = metric
    this.#series = series
  }

  /** What the registry and `get` show: instead of the numbers that the class counts itself. */
  async getForPromString() {
    const { name, help } = this.#metric
    const values = [...this.#series.all()].flatMap(({ values: given, cell }) => {
      const labels = labelsOf(this.#metric, given)
      const { buckets, sum, count } = cell.shown()
      return [
        ...buckets.map(([le, value]) => ({ metricName: `${name}_bucket`, labels: { ...labels, le }, value })),
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ]
    })
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  }
}
