// observe: metrics of prom-client whose numbers are counted elsewhere, and handed over when somebody asks for them.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Distribution, Series, Tally } from './accumulators.ts'

interface Handed<T> {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly series: Pick<Series<T>, 'all'>
}

/** The labels with these values. */
const labelsOf = (names: readonly string[], values: readonly string[]): { [name: string]: string } =>
  Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']))

export function registerCounter(registry: Registry, { name, help, labels: labelNames, series }: Handed<Tally>): void {
  const counter = new Counter({
    name,
    help,
    labelNames,
    registers: [],
    collect() {
      this.reset()
      for (const { values, cell } of series.all()) this.inc(labelsOf(labelNames, values), cell.value)
    },
  })
  registry.registerMetric(counter)
}

/** @param collect sets the values; the earlier ones are gone */
export function registerGauge(
  registry: Registry,
  { name, help, labels: labelNames }: Pick<Handed<Tally>, 'name' | 'help' | 'labels'>,
  collect: (set: (values: readonly string[], value: number) => void) => void | Promise<void>,
): void {
  const gauge = new Gauge({
    name,
    help,
    labelNames,
    registers: [],
    collect() {
      this.reset()
      return collect((values, value) => this.set(labelsOf(labelNames, values), value))
    },
  })
  registry.registerMetric(gauge)
}

export function registerHistogram(registry: Registry, handed: Handed<Distribution>): void {
  registry.registerMetric(new HandedHistogram(handed))
}

class HandedHistogram extends Histogram {
  readonly #handed: Handed<Distribution>

  constructor(handed: Handed<Distribution>) {
    super({ name: handed.name, help: handed.help, labelNames: handed.labels, registers: [] })
    this.#handed = handed
  }

  /** What the registry and `get` show: instead of the numbers that the class counts itself. */
  async getForPromString() {
    const { name, help, labels, series } = this.#handed
    const values = [...series.all()].flatMap(({ values: given, cell }) => {
      const own = labelsOf(labels, given)
      const { buckets, sum, count } = cell.shown()
      return [
        ...buckets.map(([le, value]) => ({ metricName: `${name}_bucket`, labels: { ...own, le }, value })),
        { metricName: `${name}_sum`, labels: own, value: sum },
        { metricName: `${name}_count`, labels: own, value: count },
      ]
    })
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  }
}
