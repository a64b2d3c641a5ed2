// steps: declares the used part of WebAssembly, which Node provides but its types omit.
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: 'WebAssembly.Module'
  }
  function compile(bytes: Uint8Array): Promise<Module>
  class Memory {
    /** The limits are in pages of 64 KiB. */
    constructor(limits: { readonly initial: number; readonly maximum: number })
    readonly buffer: ArrayBuffer
  }
}
