// Colours of a report's arms, in order of appearance. Each list was searched for the largest least distance of any two (0.1 and more in
// OKLab, Ottosson 2020), as they are and as they look to protanopes, deuteranopes and tritanopes (Machado et al. 2009), at a contrast
// of 3 : 1 or more with the page; earlier ones are further apart.

export const ARM_COLOURS = {
  light: ['#0f6fb8', '#d4541b', '#58012b', '#962905', '#2794fb', '#042eb2', '#c07b90', '#3c086b', '#99576c', '#6b3860'],
  dark: ['#5eb0f0', '#f58a55', '#9146b8', '#c03809', '#cdf118', '#0b7768', '#8ce4fa', '#886afe', '#ffb6a2', '#b57da7'],
} as const;

/** As custom properties of CSS: `--arm-0: #…; --arm-1: …`. */
export function armProperties(scheme: keyof typeof ARM_COLOURS): string {
  return ARM_COLOURS[scheme].map((colour, i) => `--arm-${i}: ${colour};`).join(' ');
}
