declare module 'parse-prometheus-text-format' {
  /** Values are texts, as they are written. */
  interface Family {
    readonly name: string
    readonly help: string
    readonly type: string
    readonly metrics: readonly {
      readonly labels?: { readonly [name: string]: string }
      readonly value?: string
      readonly count?: string
      readonly buckets?: { readonly [le: string]: string }
    }[]
  }
  export default function parse(text: string): readonly Family[]
}
