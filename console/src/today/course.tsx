const WIDTH = 240
const HEIGHT = 44
const HOURS = 24

/** How a figure grew over the day, above the whole day before, which is drawn faintly. */
export function Course(props: {
  readonly name: string
  readonly course: readonly number[]
  readonly before: readonly number[]
}) {
  const { name, course, before } = props
  const top = Math.max(1, ...course, ...before)
  const points = (values: readonly number[]): string =>
    [0, ...values]
      .map(
        (value, hour) =>
          `${((hour * WIDTH) / HOURS).toFixed(1)},${(HEIGHT - 2 - (value / top) * (HEIGHT - 4)).toFixed(1)}`,
      )
      .join(' ')
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" height={HEIGHT} preserveAspectRatio="none" role="img">
      <title>{`${name} over the day, and yesterday`}</title>
      <polyline
        points={points(before)}
        fill="none"
        stroke="var(--line)"
        strokeWidth="2"
        vectorEffect="non-scaling-stroke"
      />
      <polyline
        points={points(course)}
        fill="none"
        stroke="var(--chart-1)"
        strokeWidth="2"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
