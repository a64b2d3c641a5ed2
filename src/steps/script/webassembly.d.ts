// steps: what is used of WebAssembly, which Node has and its types leave out.
declare namespace WebAssembly {
  interface Module {
    readonly [Symbol.toStringTag]: 'WebAssembly.Module'
  }
  function compile(bytes: Uint8Array): Promise<Module>
  class Memory {
    /** In pages of 64 KiB. */
    constructor(limits: { readonly initial: number; readonly maximum: number })
    readonly buffer: ArrayBuffer
  }
}
