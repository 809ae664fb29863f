// Shifts the clock of a process that imports it first: `CLOCK_SHIFT_MS` milliseconds.
const shift = Number(process.env.CLOCK_SHIFT_MS)
const RealDate = Date

globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + shift] : args))
  }
  static now() {
    return RealDate.now() + shift
  }
}
