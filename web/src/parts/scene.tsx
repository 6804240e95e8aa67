// A body at one step of its episode, drawn from the side or from above. The view follows it where it walks away.

import { useMemo } from 'preact/hooks';
import type { GeomView, SceneView } from '../../../src/serve/page/wire.js';
import { COLOURS, ticksOf } from './line-chart.js';
import { type Outline, outlineOf, type Point } from './projection.js';

const [WIDTH, HEIGHT] = [480, 260];
/** Metres at least seen across. */
const LEAST = 0.2;
/** Metres of ground that are seen. */
const GROUND = 0.15;

export function Scene({ scene, step, label }: { scene: SceneView; step: number; label: string }) {
  const { poses, from, geoms, view } = scene;
  const frame = useMemo(() => frameOf(scene), [scene]);
  const pose = poses[Math.min(Math.max(0, step - from), poses.length - 1)];
  if (pose === undefined) return null;
  const centre = frame.follows ? middleOf(geoms, pose) : frame.across;
  const size = HEIGHT / frame.tall;
  const x = (across: number) => WIDTH / 2 + (across - centre) * size;
  const y = (up: number) => HEIGHT - (up - frame.low) * size;
  const marks = ticksOf(centre - WIDTH / size / 2, centre + WIDTH / size / 2, 6);
  const ground = geoms.findIndex(({ shape }) => shape === 'plane');
  return (
    <svg class="scene" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${label}, step ${step}`}>
      <title>{`${label}, step ${step}`}</title>
      {view === 'side' && ground >= 0 ? (
        <g class="ground">
          <rect x={0} y={y(pose[7 * ground + 2])} width={WIDTH} height={HEIGHT} />
          {marks.map((mark) => (
            <text key={mark} x={x(mark)} y={Math.min(HEIGHT - 4, y(pose[7 * ground + 2]) + 14)} text-anchor="middle">
              {mark}
            </text>
          ))}
        </g>
      ) : null}
      {geoms.map((geom, part) => (
        <Part
          key={part}
          outline={outlineOf(geom, pose, part, view)}
          fill={fillOf(geom, part)}
          x={x}
          y={y}
          size={size}
        />
      ))}
    </svg>
  );
}

interface PartProps {
  readonly outline: Outline | undefined;
  readonly fill: string;
  readonly x: (across: number) => number;
  readonly y: (up: number) => number;
  readonly size: number;
}

function Part({ outline, fill, x, y, size }: PartProps) {
  if (outline === undefined || outline.kind === 'ground') return null;
  if (outline.kind === 'disc') {
    const { at, radius } = outline;
    return <circle cx={x(at[0])} cy={y(at[1])} r={Math.max(1.5, radius * size)} style={{ fill }} />;
  }
  if (outline.kind === 'rod') {
    const { from, to, radius } = outline;
    const width = Math.max(2, 2 * radius * size);
    return (
      <line x1={x(from[0])} y1={y(from[1])} x2={x(to[0])} y2={y(to[1])} style={{ stroke: fill, strokeWidth: width }} />
    );
  }
  return <polygon points={outline.points.map(([a, b]) => `${x(a)},${y(b)}`).join(' ')} style={{ fill }} />;
}

interface Frame {
  readonly across: number;
  readonly low: number;
  readonly tall: number;
  readonly follows: boolean;
}

/** What is to be seen over the whole episode: all of the height, and of the width as much as fits. */
function frameOf(scene: SceneView): Frame {
  const { left, right, low, high } = scene.frame ?? reachOf(scene);
  const margin = scene.frame === undefined ? 0.08 * Math.max(LEAST, high - low) : 0;
  const tall = Math.max(LEAST, high - low + 2 * margin);
  const follows = right - left > ((tall * WIDTH) / HEIGHT) * 1.6;
  const needed = follows ? tall : Math.max(tall, ((right - left + 2 * margin) * HEIGHT) / WIDTH);
  const isGrounded = scene.view === 'side' && scene.geoms.some(({ shape }) => shape === 'plane');
  const lowest = isGrounded ? low - margin : (low + high) / 2 - needed / 2;
  return { across: (left + right) / 2, low: lowest, tall: needed, follows };
}

/** Bounds of everything that is drawn, over all steps. */
function reachOf({ geoms, poses, view }: SceneView) {
  const reach = { left: Infinity, right: -Infinity, low: Infinity, high: -Infinity };
  const hold = ([x, y]: Point, radius: number) => {
    reach.left = Math.min(reach.left, x - radius);
    reach.right = Math.max(reach.right, x + radius);
    reach.low = Math.min(reach.low, y - radius);
    reach.high = Math.max(reach.high, y + radius);
  };
  for (const pose of poses) {
    geoms.forEach((geom, part) => {
      const outline = outlineOf(geom, pose, part, view);
      if (outline?.kind === 'disc') hold(outline.at, outline.radius);
      else if (outline?.kind === 'rod') for (const end of [outline.from, outline.to]) hold(end, outline.radius);
      else if (outline?.kind === 'shape') for (const point of outline.points) hold(point, 0);
      else if (outline?.kind === 'ground') reach.low = Math.min(reach.low, outline.up - GROUND);
    });
  }
  return reach;
}

function middleOf(geoms: readonly GeomView[], pose: readonly number[]): number {
  const places = geoms.flatMap(({ shape }, part) => (shape === 'plane' ? [] : [pose[7 * part]]));
  return places.reduce((sum, x) => sum + x, 0) / Math.max(1, places.length);
}

/** The model's own colour; MuJoCo's default grey tells nothing apart. */
function fillOf({ colour: [red, green, blue, alpha] }: GeomView, part: number): string {
  if (red === 0.5 && green === 0.5 && blue === 0.5) return `var(--arm-${part % COLOURS})`;
  return `rgb(${[red, green, blue].map((one) => Math.round(one * 255)).join(' ')} / ${alpha})`;
}
