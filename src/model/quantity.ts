// model: numbers with a unit, such as "1.5h" and "512kb".
import { getOwn } from './json/value.ts'

/** The number in the smallest unit, rounded; NaN for what is no number with one of these units. */
export function quantityOf(text: string, units: { readonly [unit: string]: number }): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(text.toLowerCase()) ?? []
  return Math.round(Number(number) * (getOwn(units, unit) ?? Number.NaN))
}
